import type { PackFile } from './digest.ts'

/**
 * An `.aipack` archive (spec/aipack.md 7.2): a zip that has the folders as entries, too. The same files give the same
 * bytes, whenever and wherever.
 */
export async function makeArchive(files: readonly PackFile[]): Promise<Uint8Array> {
  const { writeZip } = await import('../base/zip-write.ts')
  const folders = new Set(files.flatMap(({ path }) => foldersAbove(path)))
  return writeZip([
    ...[...folders].map((path) => ({ kind: 'folder', path }) as const),
    ...files.map(({ path, bytes, isExecutable }) => ({ kind: 'file', path, content: bytes, isExecutable }) as const),
  ])
}

function foldersAbove(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, index) => names.slice(0, index + 1).join('/'))
}
