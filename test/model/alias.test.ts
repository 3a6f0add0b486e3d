import { describe, expect, it } from 'vitest'
import { resolveAlias, splitEffort } from '../../src/model/alias.ts'

describe('aliases', () => {
  const aliases = { x: 'target', fast: 'gpt-5-mini-low', loop: 'fast' }

  it.each([
    ['x', 'target'],
    ['x-high', 'target-high'],
    ['fast-high', 'gpt-5-mini-high'],
    ['y-high', 'y-high'],
    ['y', 'y'],
    ['loop', 'fast'],
    ['constructor', 'constructor'],
    ['toString-high', 'toString-high'],
  ])('%s stands for %s', (name, target) => {
    expect(resolveAlias(name, aliases)).toBe(target)
  })
})

describe('an effort at the end of a name', () => {
  it.each([
    ['gpt-5-high', 'gpt-5', 'high'],
    ['gpt-5-zero', 'gpt-5', 'none'],
    ['o3-xhigh', 'o3', 'xhigh'],
    ['glm-5.3-max', 'glm-5.3', 'max'],
    ['mistral-medium-high', 'mistral-medium', 'high'],
    ['gpt-5-mini', 'gpt-5-mini', undefined],
    ['-high', '-high', undefined],
    ['high', 'high', undefined],
  ])('is parsed from %s as %s with %s', (name, model, reasoningEffort) => {
    expect(splitEffort(name)).toEqual(reasoningEffort === undefined ? { model } : { model, reasoningEffort })
  })

  it.each([
    'deepseek-r1-zero',
    'qwen3.8-max',
    'qwen_cloud::qwen3.8-max',
    'vendor/Qwen3.7-max',
    'qwen-max',
    'mistral-medium',
    'magistral-medium',
    'gpt-5.1-codex-max',
  ])('is not removed from %s, whose own name ends so', (name) => {
    expect(splitEffort(name)).toEqual({ model: name })
  })
})
