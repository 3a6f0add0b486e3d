/** Names of models that are a provider's without `provider::` before them. */
export const modelNames = {
  // gpt-oss models are open weights that other hosts serve
  openai: /^(?:ft:)?(?:gpt(?!-oss)|chatgpt|codex|o[134](?:-|$))/,
  anthropic: /^claude-/,
  gemini: /^gemini-/,
  deepseek: /^deepseek-[^:]*$/,
  xai: /^grok-/,
  mistral: /^(?:mistral|ministral|magistral|codestral|devstral|pixtral|open-mi[sx]tral)-[^:]*$/,
  fireworks: /^accounts\/fireworks\//,
  moonshot: /^(?:kimi|moonshot)-[^:]*$/,
  zai: /^glm-[^:]*$/,
  // a tag behind one colon is how only Ollama writes names
  ollama: /^[^/:]+:[^/:]+$/,
} as const

/** Whether a name is one of a model, for whoever writes it: a provider's, or one with a provider or vendor in it. */
export function isModelName(name: string): boolean {
  return /[:/]/.test(name) || Object.values(modelNames).some((names) => names.test(name))
}
