import { dirname, resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { BatonError, type SourcePlace } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { Expectation, TestEntry } from '../config/schema-test.ts'
import type { PromptTarget } from '../run/prompt-target.ts'

/** One `[[test]]` of a prompt file. */
export interface TestCase {
  readonly name: string
  /** Where it is written: its `name`. */
  readonly place: SourcePlace
  /** `name=value`, as `--var` takes them. */
  readonly vars: readonly string[]
  /** Joins `[params]` and wins. */
  readonly params: JsonObject
  /** Globs, or contents by path; relative to the workspace. */
  readonly files: readonly string[] | Readonly<Record<string, string>>
  /** Absolute; undefined: nothing outside may be asked. */
  readonly cassette: string | undefined
  readonly expect: readonly Expectation[]
  /** Where a key of this test is written. */
  readonly placeOf: (path: DataPath) => Promise<SourcePlace>
}

/**
 * The tests of a prompt file that was loaded, in order (DESIGN 13).
 * @throws BatonError OUTSIDE_WORKSPACE for a cassette that is not in the workspace
 */
export async function testCases({ spec, workspace, placeOf }: PromptTarget): Promise<readonly TestCase[]> {
  // what is loaded was checked by its schema
  const entries = (spec.frontMatter['test'] ?? []) as unknown as readonly TestEntry[]
  return Promise.all(
    entries.map(async (entry, index) => {
      const at = async (path: DataPath): Promise<SourcePlace> => ({
        ...(await placeOf(['test', index, ...path])),
        file: spec.file,
      })
      const cassette = entry.cassette === undefined ? undefined : resolve(dirname(spec.file), entry.cassette)
      if (cassette !== undefined && !isInside(workspace, realPath(cassette))) {
        throw new BatonError('OUTSIDE_WORKSPACE', `the cassette ${entry.cassette} is outside the workspace`, {
          place: await at(['cassette']),
          hint: `Name a file below ${workspace}, relative to the prompt file.`,
        })
      }
      return {
        name: entry.name,
        place: await at(['name']),
        vars: Object.entries(entry.vars ?? {}).map(([name, value]) => `${name}=${flagText(value as Json)}`),
        params: (entry.params ?? {}) as JsonObject,
        files: entry.files ?? [],
        cassette,
        expect: entry.expect ?? [],
        placeOf: at,
      }
    }),
  )
}

/** A value as a flag says it: texts as they are, all else as JSON. */
function flagText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
