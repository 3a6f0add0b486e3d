import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { nearest } from '../base/suggest.ts'

/** Names of the ready prompt files that come with Baton, in order; `folder` is `pipelines/` of the package. */
export function pipelineNames(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
    .toSorted()
}

/**
 * The text of one of them, without its tests: their cassettes stay here, and fit no other prompt.
 * @throws BatonError USAGE, with all names, when there is no such pipeline
 */
export function readPipeline(name: string, folder: string): string {
  const names = pipelineNames(folder)
  if (names.includes(name)) return withoutTests(readSourceFile(join(folder, `${name}.md`)))
  const similar = nearest(name, names)
  const known = `Pipelines: ${names.join(', ')}.`
  throw new BatonError('USAGE', `there is no pipeline ${JSON.stringify(name)}`, {
    hint: similar === undefined ? known : `Did you mean ${similar}? ${known}`,
  })
}

/** Tests are the last of the front matter. */
function withoutTests(text: string): string {
  return text.replace(/\n+\[\[test\]\]\n[^]*?(?=\n\+\+\+\n)/, '')
}
