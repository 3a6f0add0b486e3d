import { extname } from 'node:path'
import type { PromptDocument } from '../prompt/document.ts'
import type { Issue } from './issue.ts'

const usual: ReadonlySet<string> = new Set(['', '.md', '.markdown', '.mdx', '.txt', '.prompt'])

/**
 * The warning for a file that was hardly meant: one without front matter whose ending says that it is something else.
 * Any text is a prompt file, so it is run all the same.
 */
export function unlikelyPrompt({ file, text, meta }: PromptDocument): readonly Issue[] {
  const ending = extname(file).toLowerCase()
  if (meta.language !== 'none' || usual.has(ending)) return []
  const message = `${file} does not look like a prompt file: its name ends in ${ending}, and it has no front matter`
  const hint = `Name a .md file; files that a prompt is about go into context_globs, or behind -f.`
  return [{ code: 'CONFIG_INVALID', message, hint, place: { file, line: 1, text } }]
}
