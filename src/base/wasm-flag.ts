/**
 * Flags of V8 for short runs. V8 starts to optimise WebAssembly functions after a few milliseconds of use, and a process cannot
 * end before that is done: half the time of a short run. With this budget, in bytes of code run, only longer scripts pay for it;
 * they were measured to take as long as before. Functions are validated when they are first called, as they are compiled: a
 * short run calls few of them. The flags hold for the process.
 */
export const wasmFlags = '--wasm-tiering-budget=100000000 --wasm-lazy-validation'
