import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'

const themes = ['auto', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const storeKey = 'baton.theme'

/** Switches between the system, light and dark themes. The choice is kept in this browser. */
export function ThemeSwitch(): VNode {
  const [theme, setTheme] = useState<Theme>(
    () => themes.find((one) => one === localStorage.getItem(storeKey)) ?? 'auto',
  )
  useEffect(() => {
    localStorage.setItem(storeKey, theme)
    if (theme === 'auto') document.documentElement.removeAttribute('data-theme')
    else document.documentElement.setAttribute('data-theme', theme)
  }, [theme])
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'auto'
  return (
    <button
      type="button"
      class="quiet"
      title={`Switch to ${next}`}
      aria-label={`Theme: ${theme}. Switch to ${next}`}
      onClick={() => setTheme(next)}
    >
      {theme === 'auto' ? '◐' : theme === 'light' ? '○' : '●'} {theme}
    </button>
  )
}
