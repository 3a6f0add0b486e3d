import { text } from './arguments.ts'
import type { HostModule } from './module.ts'

/** `aip.code` (spec/aipack.md 6.2, vector 82). */
export const codeModule: HostModule = {
  name: 'aip.code',
  functions: {
    /**
     * `aip.code.comment_line(extension, text) → string`
     * The text as a comment of one line in the language of a file extension: `-- ` for lua and sql, `# ` for py, `<!--
     * … -->` for html, one as in C for css and pcss, `// ` for all others. The extension may have blanks around it and
     * any case.
     */
    comment_line: {
      effect: 'pure',
      call: ([extension, comment]) => {
        const name = 'aip.code.comment_line'
        const [open, close] = marksOf(text(extension, name, 'the extension').trim().toLowerCase())
        return [`${open} ${text(comment, name, 'the text')}${close}`]
      },
    },
  },
}

/** What stands before and behind a comment of one line, by the extension of the file. */
function marksOf(extension: string): readonly [string, string] {
  switch (extension) {
    case 'lua':
    case 'sql':
      return ['--', '']
    case 'html':
      return ['<!--', ' -->']
    case 'css':
    case 'pcss':
      return ['/*', ' */']
    case 'py':
      return ['#', '']
    default:
      return ['//', '']
  }
}
