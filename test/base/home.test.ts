import { homedir, userInfo } from 'node:os'
import { expect, it } from 'vitest'
import { homeFolder } from '../../src/base/home.ts'

it('is HOME, or the folder of the system if HOME is empty or relative', () => {
  expect(homeFolder()).toBe(homedir())
  expect(homeFolder('/somewhere')).toBe('/somewhere')
  expect(homeFolder('')).toBe(userInfo().homedir)
  expect(homeFolder('here')).toBe(userInfo().homedir)
})
