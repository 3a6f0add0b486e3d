/**
 * V8 flags for short runs. V8 starts to optimize WebAssembly functions after a few milliseconds of use, and a process
 * cannot exit before that is done: half the time of a short run. With this budget, in bytes of code run, only longer
 * scripts are optimized; they were measured to take no longer than before. Functions are validated at their first call,
 * when they are compiled: a short run calls few of them. The flags apply to the whole process.
 */
export const wasmFlags = '--wasm-tiering-budget=100000000 --wasm-lazy-validation'
