#include "tests/emit/main_test.cpp"
