import { createJavaScriptBox, type JavaScriptBox } from './box.ts'

let box: JavaScriptBox | undefined

/**
 * The box for all programs of this process: an idle thread is kept for a while for the next program and does not keep
 * the process alive. Programs that run at the same time have separate threads.
 */
export function sharedBox(): JavaScriptBox {
  box ??= createJavaScriptBox()
  return box
}
