import { displayPath } from '../base/files.ts'
import { escapeMarkup } from '../base/markup.ts'
import type { TestFailure, TestResult } from './run-test.ts'

/** One file of a test run: its results, or why it is invalid. */
export interface JunitSuite {
  /** The path as displayed. */
  readonly file: string
  readonly results: readonly { readonly result: TestResult; readonly ms: number }[]
  readonly error?: TestFailure
}

/** The results as JUnit XML, which CI servers read: one suite per file. Paths are shown relative to `folder`. */
export function junitXml(suites: readonly JunitSuite[], folder: string): string {
  const all = suites.map((suite) => suiteXml(suite, folder))
  const counts = countsOf(suites.flatMap(({ results }) => results))
  const errors = suites.filter(({ error }) => error !== undefined).length
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="baton test"${attributes({ ...counts, errors })}>\n${all.join('')}</testsuites>\n`
}

function suiteXml({ file, results, error }: JunitSuite, folder: string): string {
  const cases = results.map(({ result, ms }) => {
    const { test, failures } = result
    const own = attributes({ name: test.name, classname: file, file, line: test.place.line, time: seconds(ms) })
    if (failures.length === 0) return `    <testcase${own}/>\n`
    return `    <testcase${own}>\n${failures.map((one) => problemXml('failure', one, folder)).join('')}    </testcase>\n`
  })
  const invalid =
    error === undefined
      ? ''
      : `    <testcase${attributes({ name: 'is valid', classname: file })}>\n${problemXml('error', error, folder)}    </testcase>\n`
  const facts = { name: file, ...countsOf(results), errors: error === undefined ? 0 : 1 }
  return `  <testsuite${attributes(facts)}>\n${cases.join('')}${invalid}  </testsuite>\n`
}

function countsOf(results: JunitSuite['results']) {
  return {
    tests: results.length,
    failures: results.filter(({ result }) => result.failures.length > 0).length,
    time: seconds(results.reduce((sum, { ms }) => sum + ms, 0)),
  }
}

function problemXml(kind: 'failure' | 'error', { message, place, hint, diff }: TestFailure, folder: string): string {
  const shown = place && [displayPath(folder, place.file), place.line, place.column].filter(Boolean).join(':')
  const at = shown === undefined ? [] : [`at ${shown}`]
  const body = [message, ...at, ...(diff === undefined ? [] : [diff]), ...(hint ? [`hint: ${hint}`] : [])].join('\n')
  const [first = ''] = message.split('\n')
  return `      <${kind}${attributes({ message: first })}>${escaped(body)}</${kind}>\n`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

function attributes(values: { readonly [name: string]: string | number | undefined }): string {
  return Object.entries(values)
    .map(([name, value]) => (value === undefined ? '' : ` ${name}="${escaped(String(value))}"`))
    .join('')
}

/** Characters that XML does not allow are replaced with the replacement character. */
function escaped(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return escapeMarkup(text.replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uD800-\uDFFF\uFFFE\uFFFF]/gu, '\uFFFD'))
}
