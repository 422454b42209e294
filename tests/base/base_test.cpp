#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/subprocess.h"

namespace cryolite {
namespace {

TEST(Hash, IsThatOfTheBytes) {
  // XXH3 with 128 bits of the empty string, as xxhsum -H2 prints it.
  EXPECT_EQ(hash_of("").hex(), "99aa06d3014798d86001c324468d497f");
  Hasher pieces;
  pieces.add("ab");
  pieces.add("c");
  EXPECT_EQ(pieces.finish(), hash_of("abc"));
  EXPECT_NE(hash_of("abc"), hash_of("abd"));
  const TemporaryFolder folder;
  write_file(folder.file("f"), "abc");
  EXPECT_EQ(hash_of_file(folder.file("f")), hash_of("abc"));
  EXPECT_THROW(hash_of_file(folder.file("g")), Error);
}

TEST(Files, WritesWholeFilesOrNothing) {
  const TemporaryFolder folder;
  write_file(folder.file("f"), "one");
  EXPECT_THROW(write_file(folder.file("f"),
                          [](std::ostream& out) {
                            out << "half";
                            throw Error("stops");
                          }),
               Error);
  EXPECT_EQ(read_file(folder.file("f")), "one");
  EXPECT_THROW(write_file(folder.file("no/such/folder"), "x"), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, RefusesFoldersThatCannotBeWritten) {
  const TemporaryFolder folder;
  require_writable_folder(folder.file("a/b"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("a/b")));
  write_file(folder.file("f"), "");
  EXPECT_THROW(require_writable_folder(folder.file("f")), Error);
  EXPECT_THROW(require_writable_folder("/proc/no"), Error);
}

TEST(Files, TemporaryFoldersGoAway) {
  std::string path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    write_file(folder.file("f"), "x");
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Subprocess, TellsHowAProgramEnded) {
  const Finished well = run({{"sh", "-c", "echo out; echo err >&2"}});
  EXPECT_TRUE(well.is_well());
  EXPECT_EQ(well.output, "out\nerr\n");
  EXPECT_EQ(run({{"sh", "-c", "exit 3"}}).describe(), "ended with code 3");
  EXPECT_NE(run({{"sh", "-c", "kill -SEGV $$"}}).describe().find("killed by signal 11"), std::string::npos);
  EXPECT_EQ(run({{"sleep", "20"}, std::chrono::seconds(1)}).describe(), "did not end within 1 s");
  EXPECT_EQ(run({{"/no/such/program"}}).how, Finished::How::NotStarted);
  // A program with much output does not wait for its reader.
  EXPECT_EQ(run({{"sh", "-c", "head -c 300000 /dev/zero"}}).output.size(), 300000u);
}

TEST(Subprocess, RunsManyAndStopsAtTheFirstFault) {
  std::vector<Command> commands;
  for (int i = 0; i < 5; ++i) commands.push_back({{"sh", "-c", "exit " + std::to_string(i)}});
  std::set<std::pair<size_t, int>> ended;
  run_all(commands, 2, [&](size_t index, const Finished& finished) { ended.insert({index, finished.code}); });
  EXPECT_EQ(ended, (std::set<std::pair<size_t, int>>{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}));
  int calls = 0;
  EXPECT_THROW(run_all(commands, 1,
                       [&](size_t, const Finished& finished) {
                         ++calls;
                         if (finished.code == 1) throw Error("stop");
                       }),
               Error);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace cryolite
