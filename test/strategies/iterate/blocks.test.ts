import { describe, expect, it } from 'vitest'
import { filesText, type IterationFacts, iterationPrompt, shortCommit } from '../../../src/strategies/iterate/blocks.ts'
import { madeRecord } from '../../helpers/iteration.ts'

const task = 'Implement user authentication'

const start: IterationFacts = { iteration: 0, count: 5, baseCommit: 'abc123def', plan: undefined, records: [] }

const records = [
  madeRecord(0, {
    commit_id: 'def4567890123456789012345678901234567890',
    changed_files: ['auth.rs', 'auth_tests.rs'],
    summary: 'Implemented JWT token generation with basic claim validation',
  }),
  madeRecord(1, {
    commit_id: '789abc0120123456789012345678901234567890',
    changed_files: ['auth.rs', 'sessions.rs'],
    summary: 'Added bcrypt password hashing and session store integration',
  }),
]

/** The prompt of a later iteration up to the end of its context block. */
function contextOf(facts: Partial<IterationFacts>, original = task): string {
  const all = { ...start, iteration: 1, ...facts }
  const text = iterationPrompt(original, all, { assessment: undefined, continuation: undefined })
  const end = `\n\n${original}`
  expect(text.endsWith(end)).toBe(true)
  return text.slice(0, -end.length)
}

describe('the prompt of an iteration', () => {
  it('is assessment and task in the first iteration', () => {
    expect(iterationPrompt(task, start, { assessment: 'A', continuation: undefined })).toBe(`<task_assessment>
## Task Complexity Assessment
A
</task_assessment>

Implement user authentication`)
    expect(iterationPrompt(task, start, { assessment: undefined, continuation: undefined })).toBe(task)
    expect(iterationPrompt(task, start, { assessment: undefined, continuation: 'Go on.' })).toBe(task)
  })

  it('is context, assessment and task in later ones', () => {
    const facts = { ...start, iteration: 2, records }
    expect(iterationPrompt(task, facts, { assessment: 'A', continuation: undefined })).toBe(`<task_context>
## Original Task
Implement user authentication

## Progress
Iteration: 2 of 5
Base commit: abc123def

## Previous Iterations
### Iteration 0 → commit def456789
Files: auth.rs, auth_tests.rs
Summary: Implemented JWT token generation with basic claim validation

### Iteration 1 → commit 789abc012
Files: auth.rs, sessions.rs
Summary: Added bcrypt password hashing and session store integration
</task_context>

<task_assessment>
## Task Complexity Assessment
A
</task_assessment>

Implement user authentication`)
  })

  it('has the continuation after the task if no context is passed', () => {
    const facts = { ...start, iteration: 2, records }
    expect(iterationPrompt(task, facts, { assessment: 'A', continuation: 'Go on.' })).toBe(`<task_assessment>
## Task Complexity Assessment
A
</task_assessment>

Implement user authentication

Go on.`)
  })

  it('leaves all texts unchanged, whatever they look like', () => {
    const odd = 'Fill {plan_section} and {{x}} with $& and $1\n</task_context>\n### Iteration 9 → commit x\n'
    const facts = { ...start, iteration: 1, plan: '$`{summary}', records: [madeRecord(0, { summary: "$' {base}" })] }
    expect(iterationPrompt(odd, facts, { assessment: '{iteration} $$', continuation: undefined })).toBe(`<task_context>
## Original Task
${odd}

## Plan
$\`{summary}

## Progress
Iteration: 1 of 5
Base commit: abc123def

## Previous Iterations
### Iteration 0 → no changes
Files: none
Summary: $' {base}
</task_context>

<task_assessment>
## Task Complexity Assessment
{iteration} $$
</task_assessment>

${odd}`)
  })
})

describe('the context block', () => {
  const files = ['1.rs', '2.rs', '3.rs', '4.rs', '5.rs', '6.rs', '7.rs']

  it('names at most five files', () => {
    expect(filesText(files)).toBe('1.rs, 2.rs, 3.rs, 4.rs, 5.rs, ... (2 more)')
    expect(filesText(files.slice(0, 6))).toBe('1.rs, 2.rs, 3.rs, 4.rs, 5.rs, ... (1 more)')
    expect(filesText(files.slice(0, 5))).toBe('1.rs, 2.rs, 3.rs, 4.rs, 5.rs')
    expect(filesText([])).toBe('none')
    expect(contextOf({ records: [madeRecord(0, { changed_files: files })] })).toContain(
      '\n### Iteration 0 → no changes\nFiles: 1.rs, 2.rs, 3.rs, 4.rs, 5.rs, ... (2 more)\nSummary: ',
    )
  })

  it('says what is unknown', () => {
    const text = contextOf({ count: undefined, baseCommit: undefined, records: [madeRecord(0)] })
    expect(text).toContain('\n## Progress\nIteration: 1 of ongoing\nBase commit: unknown\n\n')
    expect(text).toContain('\n### Iteration 0 → no changes\nFiles: none\nSummary: ')
  })

  it('contains scores, and the output of the last check', () => {
    const checked = [
      madeRecord(0, { summary: 's0', score: 1.5, check: 'npm test: exit code 1\nold failure' }),
      madeRecord(1, { summary: 's1', score: -2, check: 'npm test: exit code 1\nnew failure\nof two lines' }),
    ]
    expect(contextOf({ iteration: 2, records: checked })).toContain(`## Previous Iterations
### Iteration 0 → no changes
Files: none
Summary: s0
Score: 1.5
Check: npm test: exit code 1

### Iteration 1 → no changes
Files: none
Summary: s1
Score: -2
Check: npm test: exit code 1
new failure
of two lines
</task_context>`)
  })
})

it('commits are shown with nine characters', () => {
  expect(shortCommit('0123456789abcdef')).toBe('012345678')
  expect(shortCommit(undefined)).toBeUndefined()
})
