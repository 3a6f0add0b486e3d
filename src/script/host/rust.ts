import { pruneToDeclarations } from '../../base/rust-declarations.ts'
import { text } from './arguments.ts'
import type { HostModule } from './module.ts'

/** `aip.rust` (spec/aipack.md 6.2). */
export const rustModule: HostModule = {
  name: 'aip.rust',
  functions: {
    /**
     * `aip.rust.prune_to_declarations(code) → string`
     * Rust source with `// ...` in the place of each function's body, and of all that is in a module marked
     * `#[cfg(test)]`. Everything else stays as it is, comments too; what is behind a brace that is never closed stays whole.
     */
    prune_to_declarations: {
      effect: 'pure',
      call: ([code]) => [pruneToDeclarations(text(code, 'aip.rust.prune_to_declarations', 'the code'))],
    },
  },
}
