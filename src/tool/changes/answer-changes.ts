import type { Directive } from './directive.ts'
import { readFileBlocks } from './file-blocks.ts'
import { editingInstruction } from './instruction.ts'
import { searchReplaceInstruction, wholeFileInstruction } from './block-instruction.ts'
import { takeChanges } from './parse.ts'
import { tidyRestOf } from './pieces.ts'
import { hasBlocks } from './search-replace.ts'

/** How a model writes the content of files into its answer (`file_content_mode`, DESIGN 4). */
export type FileContentMode = 'udiffx' | 'whole' | 'search_replace_auto'

/** What a model is told about the form of file changes, for a system message. `readFileChanges` reads that form. */
export function changesInstruction(mode: FileContentMode): string {
  switch (mode) {
    case 'udiffx':
      return editingInstruction
    case 'whole':
      return wholeFileInstruction
    case 'search_replace_auto':
      return searchReplaceInstruction
  }
}

export interface AnswerChanges {
  /** In the order they are written. */
  readonly directives: readonly Directive[]
  /** The answer without them, and without the fences and empty lines they leave. */
  readonly text: string
}

/**
 * Takes the file changes out of an answer. Nothing is thrown: what looks like a change and cannot be read becomes a
 * directive of the kind Fail that says why.
 */
export function readFileChanges(answer: string, mode: FileContentMode): AnswerChanges {
  const { directives, pieces } = mode === 'udiffx' ? takeChanges(answer) : readFileBlocks(answer, madeIn(mode))
  return { directives, text: tidyRestOf(pieces) }
}

function madeIn(mode: 'whole' | 'search_replace_auto'): (filePath: string, content: string) => Directive {
  return (filePath, content) => {
    const hasParts = mode === 'search_replace_auto' && hasBlocks(content)
    return { kind: hasParts ? 'SearchReplace' : 'New', filePath, content }
  }
}
