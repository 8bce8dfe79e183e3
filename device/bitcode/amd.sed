# Makes AMD's library fit every kernel that links it: LLVM refuses modules whose flags differ (the
# version of code objects, say).
/^!llvm\.module\.flags/d
