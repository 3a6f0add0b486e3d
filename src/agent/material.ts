import { modelText } from '../base/model-text.ts'

/** The headings of the material of a prompt file, each with the setting that it comes from. */
export const material = {
  knowledge: { heading: modelText`Knowledge to follow`, from: 'knowledge_globs' },
  context: { heading: modelText`Files for context`, from: 'context_globs' },
  working: { heading: modelText`Files to work on`, from: 'working_globs' },
} as const
