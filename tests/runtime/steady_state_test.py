"""A run of a real model allocates nothing and faults on no page, through _run and through _infer, with 1 to 3 threads.
The models are those that the onnx package carries. usage: steady_state_test.py CRYOLITE CC"""
import os
import subprocess
import sys
import tempfile
import unittest

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
CC, CRYOLITE = sys.argv.pop(), sys.argv.pop()
LIGHT = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light")


class SteadyState(unittest.TestCase):
    def check(self, name, weights):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(LIGHT, f"light_{name}.onnx")
            subprocess.run([CRYOLITE, "compile", model, "-o", folder, "--name", name, "--weights", weights], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            program = os.path.join(folder, "program")
            subprocess.run([CC, "-std=c11", "-O1", "-Wall", f"-DMODEL={name}", "-I", folder,
                            os.path.join(HERE, "steady_state.c"), "-o", program, "-L", folder, f"-l{name}", "-lpthread",
                            "-ldl", "-lm"], check=True)
            done = subprocess.run([program], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(done.stdout.count(": 0 allocations, 0 page faults"), 6)

    def test_squeezenet_with_weights_inside(self):
        self.check("squeezenet", "embed")

    def test_shufflenet_with_mapped_weights(self):
        self.check("shufflenet", "file")


if __name__ == "__main__":
    unittest.main()
