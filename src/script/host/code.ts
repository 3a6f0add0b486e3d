import { pruneToDeclarations } from '../../base/rust.ts'
import { type HostModule, pure, slow, waiting } from './module.ts'

/** `aip.code`. Baton's extension to AIPack: `run`. */
export const codeModule: HostModule = {
  name: 'aip.code',
  functions: {
    /**
     * `aip.code.comment_line(extension, text) → string` The text as a one-line comment in the language of a file
     * extension: `-- ` for lua and sql, `# ` for py, `<!-- … -->` for html, a C comment for css and pcss, `// ` for all
     * others. Case and surrounding whitespace of the extension do not matter.
     */
    comment_line: pure((call) => {
      const [open, close] = commentMarks.get(call.text(0, 'the extension').trim().toLowerCase()) ?? ['//', '']
      return `${open} ${call.text(1, 'the text')}${close}`
    }),

    /**
     * `aip.code.run(program, {tools?, input?, timeout_ms?}?) → value`
     * Runs a JavaScript or TypeScript program that has no access to the machine, and returns the value of its last
     * expression, or the value it returns. `tools` names model tools, which the program calls as functions:
     * `read({ path })`; they are subject to the permissions of the agent. The program sees `input` as the variable
     * `input`. It is an error, with the line, if the program fails, and an error if it takes longer than `timeout_ms`
     * (30 seconds), not counting its tool calls.
     */
    run: waiting(async (call) => (await import('./code-run.ts')).runCode(call), { tables: 'data' }),
  },
}

/** The opening and closing of a one-line comment, for languages that do not use `//`. */
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
     * Rust source with each function body, and the content of each module marked `#[cfg(test)]`, replaced by `// ...`.
     * Everything else is unchanged, including comments and anything after a brace that is never closed.
     */
    prune_to_declarations: slow((call) => pruneToDeclarations(call.text(0, 'the code'))),
  },
}
