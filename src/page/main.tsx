import { render } from 'preact'
import { App } from './view/app.tsx'

const root = document.querySelector('#page')
if (root !== null) render(<App />, root)
