import { pruneToDeclarations } from '../../base/rust.ts'
import { type HostModule, pure, slow } from './module.ts'

/** `aip.code`. */
export const codeModule: HostModule = {
  name: 'aip.code',
  functions: {
    /**
     * `aip.code.comment_line(extension, text) → string` The text as a comment of one line in the language of a file
     * extension: `-- ` for lua and sql, `# ` for py, `<!-- … -->` for html, one as in C for css and pcss, `// ` for all
     * others. The extension may have blanks around it and any case.
     */
    comment_line: pure((call) => {
      const [open, close] = commentMarks.get(call.text(0, 'the extension').trim().toLowerCase()) ?? ['//', '']
      return `${open} ${call.text(1, 'the text')}${close}`
    }),
  },
}

/** What stands before and behind a comment of one line, where that is not `//`. */
const commentMarks: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['lua', ['--', '']],
  ['sql', ['--', '']],
  ['py', ['#', '']],
  ['html', ['<!--', ' -->']],
  ['css', ['/*', ' */']],
  ['pcss', ['/*', ' */']],
])

/** `aip.rust`. */
export const rustModule: HostModule = {
  name: 'aip.rust',
  functions: {
    /**
     * `aip.rust.prune_to_declarations(code) → string`
     * Rust source with `// ...` in the place of each function's body, and of all that is in a module marked
     * `#[cfg(test)]`. Everything else stays as it is, comments too; what is behind a brace that is never closed stays whole.
     */
    prune_to_declarations: slow((call) => pruneToDeclarations(call.text(0, 'the code'))),
  },
}
