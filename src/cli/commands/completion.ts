import { join } from 'node:path'
import { pipelineNames } from '../../authoring/pipelines.ts'
import { packageRoot } from '../../package-root.ts'
import { commandTable } from '../command-table.ts'
import { bashCompletion } from '../completion/bash.ts'
import { completionModel } from '../completion/model.ts'
import { zshCompletion } from '../completion/zsh.ts'
import type { CommandIo } from '../io.ts'

/** `baton completion bash|zsh`: the script on stdout, made of the command table (DESIGN 13). */
export async function completionCommand(shell: 'bash' | 'zsh', { out }: Pick<CommandIo, 'out'>): Promise<number> {
  const model = completionModel(commandTable, pipelineNames(join(packageRoot(), 'pipelines')))
  out(shell === 'bash' ? bashCompletion(model) : zshCompletion(model))
  return 0
}
