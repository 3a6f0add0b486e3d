import type { toolVerdict } from './tool-rules.ts'

let judge: typeof toolVerdict | undefined

/** Loads the code that judges tool calls, which runs without tools do not need. Call before the first tool is bound. */
export async function loadToolJudge(): Promise<void> {
  judge ??= (await import('./tool-rules.ts')).toolVerdict
}

/** The function that judges tool calls. */
export function toolJudge(): typeof toolVerdict {
  if (judge === undefined) throw new Error('loadToolJudge must finish before tool calls can be judged')
  return judge
}
