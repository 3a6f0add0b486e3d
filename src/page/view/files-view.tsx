import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { fetchFiles } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { hashOf } from '../route.ts'
import { Loading } from './loading.tsx'

/** The prompt files of the workspace. */
export function FilesView(): VNode {
  const [loaded] = useLoaded('files', fetchFiles)
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  return (
    <section class="view scroll" aria-label="Prompt files">
      <h1 class="hidden">Prompt files</h1>
      <div class="toolbar">
        <input
          type="search"
          id="search"
          placeholder="Search prompt files (/)"
          aria-label="Search prompt files"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      <Loading loaded={loaded}>
        {(files) => {
          const fitting = files.filter(({ path, name, description }) =>
            [path, name, description].some((field) => field.toLowerCase().includes(wanted)),
          )
          if (fitting.length === 0)
            return (
              <p class="empty">
                {files.length === 0 ? 'No prompt files in this workspace.' : 'No matching prompt files.'}
              </p>
            )
          return (
            <ul class="files">
              {fitting.map(({ path, name, description }) => (
                <li key={path}>
                  <a href={hashOf({ kind: 'file', path })}>
                    <strong>{name}</strong> <span class="folder">{path}</span>
                    <span class="about">{description}</span>
                  </a>
                </li>
              ))}
            </ul>
          )
        }}
      </Loading>
    </section>
  )
}
