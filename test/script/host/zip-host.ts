import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { LuaValue } from '../../../src/script/engine.ts'
import { zipModule } from '../../../src/script/host/zip.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection, type HostSection } from './host-section.ts'

export interface ZipHost extends HostSection {
  readonly root: string
  readonly zip: (name: string, ...args: readonly LuaValue[]) => Promise<LuaValue>
  /** All names in the workspace and next to it. */
  readonly names: () => readonly string[]
}

/** A folder that contains the workspace and one other folder. */
export function zipHost(files: { readonly [path: string]: string | Uint8Array } = {}): ZipHost {
  const parent = tempTree({ 'outside/secret.txt': 'secret' })
  const root = join(parent, 'work')
  mkdirSync(root)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  const host = hostSection(root)
  return {
    ...host,
    root,
    zip: (name, ...args) =>
      name === 'create' || name === 'extract'
        ? host.wait(zipModule, name, ...args)
        : Promise.resolve().then(() => host.call(zipModule, name, ...args)[0]),
    names: () => readdirSync(parent, { recursive: true, encoding: 'utf8' }).toSorted(),
  }
}
