// libFuzzer brings main, and FuzzTargets what it calls. The environment's SHARE_FUZZ_TARGET names the target.
int share_fuzz_is_linked = 1;
