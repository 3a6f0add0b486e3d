import { assemble, type Code, constant, unreachable, zeroDouble } from './wasm-code.ts'

/**
 * What the wasm file imports from the operating system, with the signature of each. None of it is available: the
 * libraries that would call it are never opened, so a call ends the instance.
 */
const absent: { readonly [name: string]: string } = {
  abort: 'v',
  exit: 'vi',
  system: 'ii',
  strftime: 'iiiii',
  environ_get: 'iii',
  fd_close: 'ii',
  fd_read: 'iiiii',
  fd_seek: 'iijii',
  fd_write: 'iiiii',
  __syscall_dup3: 'iiii',
  __syscall_fcntl64: 'iiii',
  __syscall_ioctl: 'iiii',
  __syscall_openat: 'iiiii',
  __syscall_readlinkat: 'iiiii',
  __syscall_renameat: 'iiiii',
  __syscall_rmdir: 'ii',
  __syscall_unlinkat: 'iiii',
  _emscripten_get_now_is_monotonic: 'i',
  _gmtime_js: 'vji',
  _localtime_js: 'vji',
  _mktime_js: 'ji',
  _tzset_js: 'viii',
}

/** An error number of C: there is no environment. */
const noSystem = 52

const answered: { readonly [name: string]: { readonly signature: string; readonly body: Code } } = {
  // only the seeds of hashing and of math.random use this; a constant keeps runs identical
  emscripten_date_now: { signature: 'd', body: [zeroDouble] },
  environ_sizes_get: { signature: 'iii', body: [constant(noSystem)] },
}

/**
 * A module that exports these functions by name. They are WebAssembly because V8 compiles a wrapper for each type of
 * function imported from JavaScript, which takes 1 ms of a short run. The build replaces this file with the module's
 * bytes.
 */
export function absentModule(): Uint8Array {
  const trapping = Object.entries(absent).map(([name, signature]) => ({ name, signature, body: [unreachable] }))
  const answering = Object.entries(answered).map(([name, { signature, body }]) => ({ name, signature, body }))
  return assemble({ imports: {}, functions: [...trapping, ...answering].map((one) => ({ ...one, locals: 0 })) })
}
