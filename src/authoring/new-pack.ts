import { join } from 'node:path'
import { displayPath } from '../base/files.ts'
import { readPackName } from './new-name.ts'
import { checkAgent, example, mainAgent, manifest, readme, wordsModule } from './pack-text.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Starter } from './starter.ts'

/** What is made, and the folder it is made in, which must not exist. */
export interface PackStarter extends Starter {
  readonly folder: string
}

/**
 * The pack `namespace@name` in `.baton/packs` of the workspace: two agents that share a Lua module, and a prompt file
 * that shows what they do. It runs without a model.
 * @throws BatonError USAGE for a name that no pack can have
 */
export function packStarter(
  text: string,
  { cwd, workspace }: { readonly cwd: string; readonly workspace: string },
): PackStarter {
  const { namespace, name } = readPackName(text)
  const folder = join(workspace, '.baton', 'packs', namespace, name)
  const pack = { namespace, name, folder: displayPath(workspace, folder) }
  const identity = `${namespace}@${name}`
  const shown = shellWord(displayPath(cwd, join(folder, 'example.md')))
  return {
    folder,
    files: [
      { path: join(folder, 'pack.toml'), text: manifest(pack) },
      { path: join(folder, 'main.aip'), text: mainAgent },
      { path: join(folder, 'check.aip'), text: checkAgent },
      { path: join(folder, 'lua', 'words.lua'), text: wordsModule },
      { path: join(folder, 'example.md'), text: example(pack) },
      { path: join(folder, 'README.md'), text: readme(pack) },
    ],
    next: [
      { kind: 'command', command: `baton check ${identity} ${identity}/check ${shown}` },
      { kind: 'command', command: `baton ${identity} -i "some text"`, note: 'its main.aip by itself' },
      { kind: 'command', command: `baton ${shown} -m offline::extractive`, note: 'both agents, without a key' },
    ],
  }
}
