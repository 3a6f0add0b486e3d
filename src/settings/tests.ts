import type { z } from 'zod'
import { free, promptOnly, type SettingRow, type TableOf } from './setting.ts'

/** `[[test]]`: what `baton test` runs. */
export const test = {
  ...promptOnly,
  order: free,
  text: 'Tests of the prompt file: baton test runs them.',
  each: { list: 'a list of tables' },
  refineAll: withUniqueNames,
  keys: {
    name: {
      isRequired: true,
      schema: ({ name }) => name,
      text: 'What is true if the test passes. Unique in the file.',
    },
    vars: { schema: ({ tableOf, anything }) => tableOf(anything), text: 'Values of the variables of [input].' },
    params: {
      schema: ({ tableOf, anything }) => tableOf(anything),
      text: 'Merged with [params], over which it takes precedence.',
    },
    input: { schema: ({ anything }) => anything, text: 'The input, as with -i; for an agent any value.' },
    judge_model: { schema: ({ name }) => name, text: 'The model that judges. Default: the model of the config.' },
    files: {
      schema: ({ either, listOf, name, tableOf, text }) =>
        either([listOf(name), tableOf(text)], 'a list of globs, or a table of names and contents'),
      text: 'The files the run finds: globs of files to copy, or a table of names and contents. Relative to the workspace.',
    },
    cassette: {
      schema: ({ name }) => name,
      text: 'The recorded answers of models, commands and HTTP: a file, relative to the prompt file.',
    },
    expect: {
      text: 'What must be true after the run. Default: it ends with exit code 0.',
      each: { list: 'a list of tables' },
      refine: withAnyKey,
      keys: {
        answer_contains: { schema: ({ pieces }) => pieces, text: 'Text that the answer contains.' },
        answer_matches: {
          schema: ({ pattern }) => pattern,
          text: 'A JavaScript regular expression that matches somewhere in the answer.',
        },
        file_contains: { schema: ({ tableOf, pieces }) => tableOf(pieces), text: 'Files and text that they contain.' },
        file_equals: { schema: ({ tableOf, text }) => tableOf(text), text: 'Files and their whole content.' },
        output: {
          schema: ({ anything }) => anything,
          text: 'What the agent returned; for a prompt file the answer, parsed as JSON.',
        },
        json: { schema: ({ tableOf, anything }) => tableOf(anything), text: 'Values of the output by path.' },
        schema: {
          schema: ({ jsonSchema }) => jsonSchema,
          text: 'A JSON Schema that the output must match: a file, relative to the tested one, or a table.',
        },
        changed_files: {
          schema: ({ listOf, name }) => listOf(name),
          text: 'Exactly these files were created, changed or deleted.',
        },
        lua: { schema: ({ name }) => name, text: 'A Lua expression that must be true.' },
        judge: {
          schema: ({ pieces }) => pieces,
          text: 'A statement, or a list of statements, that a model must find to be true of the answer.',
        },
        exit: { schema: ({ integer }) => integer(0, 255), text: 'The exit code of the run.' },
        max_cost_usd: {
          schema: ({ number }) => number(0, 1e9),
          text: 'The maximum cost of model calls, in US dollars.',
        },
        calls: { schema: ({ integer }) => integer(0), text: 'The number of model calls.' },
      },
    },
  },
} as const satisfies SettingRow

/** One entry of `[[test]]`, after the check. */
export type TestEntry = TableOf<typeof test>
/** One entry of `expect`, after the check. */
export type Expectation = TableOf<typeof test.keys.expect>

function withAnyKey(expectation: z.ZodType): z.ZodType {
  return expectation.refine((value) => Object.keys(value as Expectation).length > 0, {
    error: 'a table with at least one key',
    // one with a mistyped key is not
    when: ({ issues }) => issues.length === 0,
  })
}

function withUniqueNames(tests: z.ZodType): z.ZodType {
  return tests.superRefine((value, context) => {
    const names = (value as readonly TestEntry[]).map(({ name }) => name)
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) === index) continue
      const message = 'a name that is unique among the tests of the file'
      context.addIssue({ code: 'custom', path: [index, 'name'], input: name, message })
    }
  })
}
