import { displayPath } from '../base/files.ts'
import { harmless } from '../render/harmless.ts'
import { createPaint, type Paint } from '../render/style.ts'
import type { TestFailure } from '../testing/failure.ts'
import type { TestedFile } from '../testing/load-tests.ts'
import type { TestResult } from '../testing/run-test.ts'
import type { CommandIo } from './io.ts'
import type { GlobalFlags } from './options.ts'
import { placeText } from './trail.ts'

/** Shows tests as they end. */
export interface TestWriter {
  readonly test: (file: TestedFile, result: TestResult) => void
  readonly end: (files: readonly TestedFile[]) => void
}

/** One line for each test that passed, and what went wrong with the others; or JSON lines. All of it is the result. */
export function createTestWriter(
  { json, level }: Pick<GlobalFlags, 'json' | 'level'>,
  { out, outIsTerminal, env, cwd }: Pick<CommandIo, 'out' | 'outIsTerminal' | 'env' | 'cwd'>,
): TestWriter {
  const paint = createPaint({ env, isTerminal: outIsTerminal })
  const counts = { passed: 0, failed: 0 }
  return {
    test({ file }, result) {
      const hasPassed = result.failures.length === 0
      counts[hasPassed ? 'passed' : 'failed'] += 1
      if (json) out(`${JSON.stringify(testLine(file, result))}\n`)
      else if (level !== 'quiet' || !hasPassed)
        out(describeTest(result, { cwd, paint, isVerbose: level === 'verbose' }))
    },
    end(files) {
      const tested = files.filter(({ tests }) => tests.length > 0).length
      if (json) out(`${JSON.stringify({ type: 'summary', ...counts, files: tested })}\n`)
      else if (level !== 'quiet' && tested > 0) out(summary(counts, tested))
    },
  }
}

interface Shown {
  readonly cwd: string
  readonly paint: Paint
  readonly isVerbose: boolean
}

function describeTest(result: TestResult, { cwd, paint, isVerbose }: Shown): string {
  const { test, failures, calls, costUsd, isRecorded, folder } = result
  const hasPassed = failures.length === 0
  const cost = costUsd === null ? 'cost not known' : `$${costUsd.toFixed(4)}`
  const notes = [
    ...(hasPassed ? [] : [`${displayPath(cwd, test.place.file)}:${test.place.line ?? 1}`]),
    ...(isVerbose ? [`${calls} ${calls === 1 ? 'call' : 'calls'}, ${cost}`] : []),
    ...(isRecorded && test.cassette !== undefined ? [`recorded ${displayPath(cwd, test.cassette)}`] : []),
    ...(folder === undefined ? [] : [`kept ${folder}`]),
  ]
  const behind = notes.length === 0 ? '' : paint('dim', ` (${harmless(notes.join('; '))})`)
  const mark = hasPassed ? paint('green', '✓') : paint('red', '✗')
  const title = `${mark} ${harmless(test.name)}${behind}`
  return `${[title, ...failures.flatMap((failure) => describeFailure(failure, { cwd, paint }))].join('\n')}\n`
}

function describeFailure(
  { message, place, hint, diff }: TestFailure,
  { cwd, paint }: Pick<Shown, 'cwd' | 'paint'>,
): readonly string[] {
  const lines = [
    ...message.split('\n').map(harmless),
    ...(place === undefined ? [] : [`${paint('dim', 'at')} ${harmless(placeText(place, cwd))}`]),
    ...(diff === undefined
      ? []
      : diff
          .trimEnd()
          .split('\n')
          .map((line) => diffLine(line, paint))),
    ...(hint === undefined || hint === '' ? [] : [`${paint('cyan', 'hint')}: ${harmless(hint)}`]),
  ]
  return lines.map((line) => `  ${line}`)
}

function diffLine(line: string, paint: Paint): string {
  const shown = harmless(line)
  if (line.startsWith('-')) return paint('red', shown)
  return line.startsWith('+') ? paint('green', shown) : shown
}

function summary({ passed, failed }: { readonly passed: number; readonly failed: number }, files: number): string {
  const counted = [...(passed === 0 ? [] : [`${passed} passed`]), ...(failed === 0 ? [] : [`${failed} failed`])]
  return `${counted.join(', ')} (${count(passed + failed, 'test')}, ${count(files, 'file')})\n`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

function testLine(file: string, { test, failures, calls, costUsd, isRecorded, folder }: TestResult) {
  return {
    type: 'test',
    file,
    name: test.name,
    line: test.place.line,
    status: failures.length === 0 ? 'passed' : 'failed',
    calls,
    cost_usd: costUsd,
    ...(isRecorded ? { recorded: test.cassette } : {}),
    ...(folder === undefined ? {} : { folder }),
    failures: failures.map(({ message, place, hint, diff }) => ({
      message,
      ...(place === undefined ? {} : { file: place.file, line: place.line }),
      ...(hint === undefined ? {} : { hint }),
      ...(diff === undefined ? {} : { diff }),
    })),
  }
}
