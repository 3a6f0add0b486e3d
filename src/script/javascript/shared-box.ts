import { createJavaScriptBox, type JavaScriptBox } from './box.ts'

let box: JavaScriptBox | undefined

/**
 * The box of all programs of this process: a thread that is idle is kept for a while for the next one, and does not keep the
 * process. Programs that run at once have threads of their own.
 */
export function sharedBox(): JavaScriptBox {
  box ??= createJavaScriptBox()
  return box
}
