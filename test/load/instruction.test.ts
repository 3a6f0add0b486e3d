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

describe('names in an instruction', () => {
  const problemsOf = async (instruction: string, variables?: readonly string[]) =>
    instructionProblems(await parsePrompt('ask.md', `+++\nx = 1\n+++\n${instruction}\n`), variables)

  it.each([
    ['{{input.nmae}}', 'there is no variable "nmae"', 'Did you mean "name"?'],
    ['{{#if input.other}}x{{/if}}', 'there is no variable "other"', 'Declare it in the front matter: [input.other].'],
    ['{{name}}', 'there is no "name" in the data', 'Write {{input.name}}: variables are in input.'],
    ['{{parms.a}}', 'there is no "parms" in the data', 'Did you mean "params"?'],
    ['{{data.inputs}}', 'there is no "inputs" in data', 'data has files, task; text with braces is written \\{{.'],
    ['{{#each data.files.contxt}}x{{/each}}', 'there is no "contxt" in data.files', 'Did you mean "context"?'],
  ])('that would be empty are errors at their place: %s', async (tag, message, hint) => {
    expect(await problemsOf(`name ${tag}`, ['name'])).toMatchObject([
      { message: `the template cannot be rendered: ${message}`, hint, place: { line: 4, column: 6 } },
    ])
  })

  it('may be any field of an input without variables, of parameters, and of the values of a block', async () => {
    const fine =
      '{{input.a}} {{params.b}} {{#each input.list as |word|}}{{c}} {{word}}{{@index}}{{/each}} {{data.task.index}} {{this}}'
    expect(await problemsOf(fine)).toEqual([])
    expect(await problemsOf('{"a": {{input.name}}}', ['name'])).toEqual([])
  })
})
