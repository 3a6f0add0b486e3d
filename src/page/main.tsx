import { render } from 'preact'
import { signIn, signInAgain } from './live/session.ts'
import { App } from './view/app.tsx'

signInAgain()
// the ticket is out of the address before anything reads the address
void signIn().then(() => {
  const root = document.querySelector('#page')
  if (root !== null) render(<App />, root)
})
