import { describe, expect, it } from 'vitest'
import { dotText, mermaidText } from '../../../src/strategies/workflow/drawing.ts'
import type { WorkflowStepPlan } from '../../../src/strategies/workflow/plan.ts'

function step(id: string, more: Partial<WorkflowStepPlan> = {}): WorkflowStepPlan {
  return {
    at: id,
    id,
    needs: [],
    when: 'success',
    for_each: null,
    concurrency: null,
    on_error: 'fail_fast',
    isolation: null,
    fallback: [],
    agent: null,
    tools: [],
    decided_by: [],
    decides: [],
    asks: [],
    ...more,
  }
}

const steps = [
  step('end'),
  step('b', { needs: ['end'], when: 'say("no")', for_each: 'params.<files>' }),
  step('c', { needs: ['end', 'b'] }),
]

describe('the graph of a workflow', () => {
  it('is a Mermaid flowchart with safe names and escaped labels', () => {
    expect(mermaidText(steps)).toBe(
      [
        'flowchart TD',
        '  s0["end<br>main agent"]',
        '  s1["b<br>main agent<br>for each params.#lt;files#gt;"]',
        '  s2["c<br>main agent"]',
        '  s0 -->|"say(#quot;no#quot;)"| s1',
        '  s0 --> s2',
        '  s1 --> s2',
        '',
      ].join('\n'),
    )
  })

  it('is a graph in DOT, with quoted ids and labels', () => {
    expect(dotText(steps)).toBe(
      [
        'digraph workflow {',
        '  node [shape=box];',
        String.raw`  "end" [label="end\nmain agent"];`,
        String.raw`  "b" [label="b\nmain agent\nfor each params.<files>"];`,
        String.raw`  "c" [label="c\nmain agent"];`,
        String.raw`  "end" -> "b" [label="say(\"no\")"];`,
        '  "end" -> "c";',
        '  "b" -> "c";',
        '}',
        '',
      ].join('\n'),
    )
  })
})
