import { basename, join, resolve } from 'node:path'
import { displayPath, readSourceFile } from '../../base/files.ts'
import { filesInFolder } from '../../authoring/files-in-folder.ts'
import { firstText } from '../../authoring/inventory.ts'
import { listRuns } from '../../history/run-list.ts'
import { Refusal } from '../refusal.ts'
import { get, type Route } from './route.ts'
import * as schemas from './schemas.ts'
import { readChoices, readRunForm } from './run-form.ts'
import type { ServedWorkspace } from './served-workspace.ts'

/** The routes for the prompt files and agents of the workspace. */
export function filesRoutes(served: ServedWorkspace): readonly Route[] {
  const { workspace, runs, totals } = served

  async function paths(): Promise<readonly string[]> {
    return filesInFolder(workspace, served, new AbortController().signal)
  }

  return [
    get(
      {
        path: '/api/files',
        summary: 'The prompt files and agents of the workspace',
        query: schemas.noQuery,
        gives: schemas.fileList,
      },
      async () => {
        const files = (await paths()).map(async (path) => {
          const file = join(workspace, path)
          return { path, name: basename(path), description: await firstText(file, () => readSourceFile(file)) }
        })
        return { files: await Promise.all(files) }
      },
    ),
    get(
      {
        path: '/api/file',
        summary: 'A prompt file or agent, and its last run',
        query: schemas.fileQuery,
        gives: schemas.fileText,
      },
      async ({ query: { path } }) => {
        if (!(await paths()).includes(path)) throw new Refusal(404, 'this workspace has no such prompt file')
        const file = resolve(workspace, path)
        const isOfFile = (run: { readonly file: string }): boolean => displayPath(workspace, run.file) === path
        for await (const last of listRuns(runs, { limit: 1, fits: isOfFile, totals }))
          return { path, text: readSourceFile(file), last }
        return { path, text: readSourceFile(file), last: null }
      },
    ),
    get(
      {
        path: '/api/form',
        summary: 'What a prompt file or agent can be given when it is run',
        query: schemas.fileQuery,
        gives: schemas.runForm,
      },
      ({ query: { path } }) => readRunForm(served, path),
    ),
    get(
      {
        path: '/api/choices',
        summary: 'Names of models and modes for a run',
        query: schemas.noQuery,
        gives: schemas.choices,
      },
      () => readChoices(served),
    ),
  ]
}
