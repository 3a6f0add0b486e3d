import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/** Builds the page of baton serve: one script, one style sheet and one document, each self-contained. */
export async function buildPage(root, folder) {
  await build({
    entryPoints: { page: join(root, 'src/page/main.tsx') },
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2022'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  })
  await build({ entryPoints: [join(root, 'src/page/page.css')], outdir: folder, minify: true, logLevel: 'warning' })
  copyFileSync(join(root, 'src/page/index.html'), join(folder, 'index.html'))
}
