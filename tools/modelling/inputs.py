"""Made-up inputs, seeded: text drawn in pixels, sound, tokens, numbers."""


# Capital letters of 5 by 7 dots, a string a row, to draw lines of text with.
FONT = {
    "C": " ### ,#   #,#    ,#    ,#    ,#   #, ### ", "R": "#### ,#   #,#   #,#### ,# #  ,#  # ,#   #",
    "Y": "#   #,#   #, # # ,  #  ,  #  ,  #  ,  #  ", "O": " ### ,#   #,#   #,#   #,#   #,#   #, ### ",
    "L": "#    ,#    ,#    ,#    ,#    ,#    ,#####", "I": " ### ,  #  ,  #  ,  #  ,  #  ,  #  , ### ",
    "T": "#####,  #  ,  #  ,  #  ,  #  ,  #  ,  #  ", "E": "#####,#    ,#    ,#### ,#    ,#    ,#####",
    "F": "#####,#    ,#    ,#### ,#    ,#    ,#    ", "U": "#   #,#   #,#   #,#   #,#   #,#   #, ### ",
    "S": " ####,#    ,#    , ### ,    #,    #,#### ", "K": "#   #,#  # ,# #  ,##   ,# #  ,#  # ,#   #",
    "N": "#   #,##  #,# # #,#  ##,#   #,#   #,#   #",
}


def draw_text(image, text, top, left, dot):
    """Draws a line of text into an image (rows, columns): -1 is ink, 1 is paper; a dot of the font has dot x dot pixels."""
    for letter in text:
        for row, line in enumerate(FONT.get(letter, "").split(",")):
            for column, mark in enumerate(line):
                if mark == "#":
                    image[top + row * dot:top + (row + 1) * dot, left + column * dot:left + (column + 1) * dot] = -1
        left += 6 * dot


def make_input(kind, shape, random):
    import numpy
    if kind in ("text line", "text page"):
        image = numpy.ones(shape[-2:], numpy.float32)
        if kind == "text line":
            draw_text(image, "CRYOLITE", 10, 10, 3 if shape[-1] < 300 else 4)
        else:
            for index, text in enumerate(["CRYOLITE", "FUSES", "KERNELS"]):
                draw_text(image, text, 40 + 90 * index, 40 + 20 * index, 4)
        return numpy.ascontiguousarray(numpy.broadcast_to(image, shape))
    if kind == "bytes as float":
        return random.integers(0, 256, shape).astype(numpy.float32)
    if kind == "bytes as int32":
        return random.integers(0, 256, shape).astype(numpy.int32)
    if kind == "tokens below 30522":
        return random.integers(1, 30522, shape)
    if kind == "int64 ones":
        return numpy.ones(shape, numpy.int64)
    if kind == "16000":
        return numpy.array(16000, numpy.int64)
    if kind == "sound":
        return random.uniform(-0.5, 0.5, shape).astype(numpy.float32)
    if kind == "normal":
        return random.standard_normal(shape).astype(numpy.float32)
    raise ValueError(kind)
