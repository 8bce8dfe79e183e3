# Makes NVIDIA's library fit every kernel that links it: LLVM refuses modules whose flags differ (how
# subnormal floats are treated, say), and does not inline a function of another GPU's attributes.
/^!llvm\.module\.flags/d
s/ "target-cpu"="[^"]*"//
s/ "target-features"="[^"]*"//
