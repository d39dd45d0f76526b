/** The site, built from the documents as `npm run docs` does, which also checks its links. */

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import t from 'tap'

const eleventy = 'node_modules/@11ty/eleventy/cmd.cjs'
const skip = existsSync(eleventy) ? false : 'Eleventy is not installed: npm ci'

t.test('each document is a page, and the search finds its sections', { skip }, async t => {
  const folder = t.testdir({})
  const config = ['--config=deploy/site/eleventy.config.mjs', '--quiet', `--output=${folder}`]
  execFileSync(process.execPath, [eleventy, ...config], { stdio: 'pipe' })
  const page = (path: string): string => readFileSync(join(folder, path), 'utf8')
  t.match(page('index.html'), /<h1 id="watchglass">Watchglass<\/h1>/)
  t.match(page('docs/START.html'), /<a href="PROXY\.html">/)
  t.match(page('lib/simulator/index.html'), /<script defer src="\.\.\/\.\.\/search\.js"/)
  t.match(page('deploy/helm/watchglass/index.html'), '{{- include', 'braces are no template')
  t.ok(existsSync(join(folder, 'deploy/alerts.yaml')), 'files that are linked come along')

  const found = search(page('search-index.js'), page('search.js'), 'hostile sidecar-nothing')
  t.strictSame(found, ['Nothing has all of these words.'])
  const [first = ''] = search(page('search-index.js'), page('search.js'), 'kubeadm kube-apiserver')
  t.match(first, /^Running Watchglass: kubeadm/)
})

/** The texts that the page shows for what is typed. */
function search(index: string, script: string, typed: string): string[] {
  interface Element {
    textContent: string
    readonly children: Element[]
    append(...children: Element[]): void
    replaceChildren(...children: Element[]): void
    addEventListener(type: string, task: () => void): void
  }
  let listener = (): void => {}
  const element = (): Element => {
    const children: Element[] = []
    return {
      textContent: '',
      children,
      append: (...more) => void children.push(...more),
      replaceChildren: (...more) => void children.splice(0, children.length, ...more),
      addEventListener: (_, task) => void (listener = task),
    }
  }
  const input = Object.assign(element(), { value: typed })
  const list = element()
  const document = {
    currentScript: { dataset: { root: '.' } },
    getElementById: (id: string) => (id === 'search' ? input : list),
    createElement: element,
  }
  const context = createContext({ document, matchMedia: () => ({ matches: false }) })
  runInContext(`${index}\n${script}`, context)
  listener()
  return list.children.map(({ textContent, children }) => children[0]?.textContent ?? textContent)
}
