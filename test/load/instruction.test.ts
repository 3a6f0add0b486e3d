import { describe, expect, it } from 'vitest'
import { parsePrompt } from '../../src/prompt/document.ts'
import { instructionProblems, renderInstruction } from '../../src/load/instruction.ts'

const text =
  '+++\ntemplate = true\n+++\n\nTone {{params.tone}}, {{input}}:\n{{#each data.files.context}}- {{path}}\n{{/each}}\n'
const data = {
  input: 'the {{parser}}',
  data: { files: { context: [{ path: 'a.ts', size: 1 }] }, task: { index: 0 } },
  params: { tone: 'calm' },
}

const { signal } = new AbortController()

describe('an instruction with a template', () => {
  it('is substituted once', async () => {
    const document = await parsePrompt('ask.md', text)
    const { prompts } = await renderInstruction({ params: {}, prompts: [document.instruction] }, document, data, signal)
    expect(prompts).toEqual(['Tone calm, the {{parser}}:\n- a.ts\n'])
  })

  it('does not render what agents inserted', async () => {
    const document = await parsePrompt('ask.md', text)
    const state = { params: {}, prompts: [document.instruction, 'Use {{params.tone}}.', `${document.instruction} `] }
    const { prompts } = await renderInstruction(state, document, data, signal)
    expect(prompts.slice(1)).toEqual(state.prompts.slice(1))
    expect(prompts[0]).toContain('Tone calm')
  })

  it('is checked before anything runs, at its line in the file', async () => {
    const broken = await parsePrompt('ask.md', '+++\nx = 1\n+++\n\nFine.\n{{#if input}}\n')
    const error = { code: 'PROMPT_SYNTAX', place: { file: 'ask.md', line: 6 } }
    expect(await instructionProblems(broken)).toMatchObject([error])
    const state = { params: {}, prompts: [broken.instruction] }
    await expect(renderInstruction(state, broken, data, signal)).rejects.toMatchObject(error)
    expect(await instructionProblems(await parsePrompt('ask.md', text))).toEqual([])
  })
})
