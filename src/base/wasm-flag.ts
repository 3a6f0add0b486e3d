/**
 * V8 starts to optimise WebAssembly functions after a few milliseconds of use, and a process cannot end before that is done:
 * half the time of a short run. With this budget, in bytes of code run, only longer scripts pay for it; they were measured to
 * take as long as before. The flag holds for the process.
 */
export const wasmFlag = '--wasm-tiering-budget=100000000'
