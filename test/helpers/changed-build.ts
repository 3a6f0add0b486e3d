import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transformSync } from 'esbuild'
import { root } from './baton.ts'

/** Copies the build to a folder of this name. Returns the copy of dist/, which has `main.js`. */
export function copyBuild(name: string): string {
  // inside the repository, so that packages are found
  const folder = join(root, `node_modules/.cache/${name}-${process.pid}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const dist = join(folder, 'dist')
  cpSync(join(root, 'dist'), dist, {
    recursive: true,
    filter: (path) => !path.endsWith('.d.ts') && path !== join(root, 'dist/bin'),
  })
  for (const linked of ['package.json', 'agents', 'pipelines', 'starters', 'docs']) {
    symlinkSync(join(root, linked), join(folder, linked))
  }
  return dist
}

/** Builds a source file, such as `tool/toolbox/read.ts`, into a copy of the build. */
export function buildInto(dist: string, file: string, source: string): void {
  const { code } = transformSync(source, { loader: 'ts', format: 'esm', target: 'node20' })
  const path = join(dist, file.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, code.replaceAll(/(from |import\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2'))
}
