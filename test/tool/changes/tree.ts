import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { tempTree } from '../../helpers/temp.ts'

/** Content by path; a path that ends with `/` is an empty folder. */
export interface Tree {
  readonly [path: string]: string | Uint8Array | { readonly link: string }
}

export function makeTree(tree: Tree, modes: { readonly [path: string]: number } = {}): string {
  const root = tempTree()
  for (const [path, content] of Object.entries(tree)) {
    const file = join(root, path)
    mkdirSync(path.endsWith('/') ? file : dirname(file), { recursive: true })
    if (path.endsWith('/')) continue
    if (typeof content === 'object' && 'link' in content) symlinkSync(content.link, file)
    else writeFileSync(file, content)
  }
  for (const [path, mode] of Object.entries(modes)) chmodSync(join(root, path), mode)
  return root
}

/** The argument of `makeTree`, read back from a folder: text if it is UTF-8, otherwise bytes. */
export function readTree(root: string, folder = ''): Tree {
  const tree: { [path: string]: Tree[string] } = {}
  for (const name of readdirSync(join(root, folder)).toSorted()) {
    const path = folder + name
    const status = lstatSync(join(root, path))
    if (status.isSymbolicLink()) tree[path] = { link: readlinkSync(join(root, path)) }
    else if (status.isDirectory()) Object.assign(tree, readTree(root, `${path}/`))
    else tree[path] = textOrBytes(readFileSync(join(root, path)))
  }
  return folder !== '' && Object.keys(tree).length === 0 ? { [folder]: '' } : tree
}

/** The permission bits of everything below a folder; links are not followed. */
export function readModes(root: string, folder = ''): { readonly [path: string]: number } {
  const modes: { [path: string]: number } = {}
  for (const name of readdirSync(join(root, folder)).toSorted()) {
    const path = folder + name
    const status = lstatSync(join(root, path))
    modes[path] = status.mode & 0o7777
    if (status.isDirectory()) Object.assign(modes, readModes(root, `${path}/`))
  }
  return modes
}

function textOrBytes(bytes: Buffer): string | Uint8Array {
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : new Uint8Array(bytes)
}
