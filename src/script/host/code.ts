import { pruneToDeclarations } from '../../base/rust.ts'
import { type HostModule, pure, slow, waiting } from './module.ts'

/** `aip.code`. Ours beyond AIPack: `run`. */
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

    /**
     * `aip.code.run(program, {tools?, input?, timeout_ms?}?) → value`
     * Runs a program in JavaScript or TypeScript, which sees nothing of the machine, and gives the value of its last
     * expression, or what it returns. `tools` names tools of models, which it calls as functions: `read({ path })`; they are
     * held to the permissions of the agent. `input` is its variable `input`. An error of the program is an error, with its
     * line, and so is one that takes longer than `timeout_ms` (30 seconds), its calls not counted.
     */
    run: waiting(async (call) => (await import('./code-run.ts')).runCode(call), { tables: 'data' }),
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
