import type { toolVerdict } from './tool-rules.ts'

let judge: typeof toolVerdict | undefined

/** Loads what judges calls of tools: runs in which no model has tools do not need it. Before the first tool is bound. */
export async function loadToolJudge(): Promise<void> {
  judge ??= (await import('./tool-rules.ts')).toolVerdict
}

/** What judges calls of tools. */
export function toolJudge(): typeof toolVerdict {
  if (judge === undefined) throw new Error('calls of tools are judged once loadToolJudge has loaded what judges them')
  return judge
}
