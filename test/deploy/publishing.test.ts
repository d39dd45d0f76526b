/** The files that a host of repositories, npm and Artifact Hub read. Actions
 *  cannot run here, so that their files are held to rules: the least rights, pinned actions, no
 *  input in a script, and nothing that does not exist. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { parse } from 'yaml'
import { libraries } from '../support/program/package.ts'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface WorkflowJob {
  readonly 'runs-on': string
  readonly 'timeout-minutes'?: number
  readonly permissions?: Readonly<Record<string, string>>
  readonly environment?: string
  readonly needs?: string | readonly string[]
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> }
  readonly steps: readonly Step[]
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, WorkflowJob>>
}

const folder = '.github/workflows'
const texts = new Map(
  readdirSync(folder).map(name => [name, readFileSync(join(folder, name), 'utf8')]),
)
const workflows = new Map(
  [...texts].map(([name, text]) => [name, parse(text) as Workflow] as const),
)
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly repository: { readonly url: string }
  readonly homepage: string
  readonly bugs: string
  readonly scripts: Readonly<Record<string, string>>
}
/** `OWNER/NAME`. */
const repository =
  /^git\+https:\/\/github\.com\/(.+)\.git$/.exec(manifest.repository.url)?.[1] ?? ''

t.test('workflows are there for tests, releases, CodeQL and the Scorecard', async t => {
  t.strictSame([...workflows.keys()].toSorted(), [
    'codeql.yml',
    'release.yml',
    'scorecard.yml',
    'test.yml',
  ])
  const { extends: presets } = JSON.parse(readFileSync('.github/renovate.json', 'utf8')) as {
    extends: readonly string[]
  }
  t.ok(presets.includes('helpers:pinGitHubActionDigests'), 'actions stay pinned')
})

for (const [name, { permissions, jobs, on }] of workflows) {
  t.test(`${name} has the least rights, an end, and pinned actions`, async t => {
    t.strictSame(permissions, { contents: 'read' })
    t.notOk('pull_request_target' in on || 'workflow_run' in on, 'nobody else begins it')
    for (const [job, { 'timeout-minutes': minutes, ...rest }] of Object.entries(jobs)) {
      t.ok(minutes !== undefined && minutes <= 60, `${job} ends`)
      t.equal(rest['runs-on'], 'ubuntu-latest')
      const needs = [rest.needs ?? []].flat()
      t.ok(
        needs.every(one => one in jobs),
        `${job} needs jobs that exist`,
      )
      const writes = Object.entries(rest.permissions ?? {}).filter(([, right]) => right === 'write')
      const isPublishing = writes.some(([of]) => of !== 'security-events')
      if (isPublishing && name === 'release.yml') t.equal(rest.environment, 'release', job)
      for (const { uses, run = '', with: given = {} } of rest.steps) {
        if (uses !== undefined) t.match(uses, /^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/)
        const isCheckout = uses?.startsWith('actions/checkout@') === true
        if (isCheckout) t.equal(given['persist-credentials'], false)
        t.notMatch(run, '${{', 'inputs come by the environment, never into a script')
        for (const [, script = ''] of run.matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)) {
          t.ok(script in manifest.scripts, `npm run ${script}`)
        }
        for (const [, file = ''] of run.matchAll(/\b(deploy\/helm\/[\w/]+|dist\/test\/[\w/.]+)/g)) {
          const source = file.replace(/^dist\//, '').replace(/\.js$/, '.ts')
          t.ok(existsSync(source), source)
        }
      }
    }
    for (const line of texts.get(name)!.split('\n')) {
      if (/^\s*(?:- )?uses: /.test(line)) t.match(line, / # v\d+\.\d+\.\d+$/, 'its version')
    }
  })
}

t.test('tests run on each Node that is supported, and on the oldest that works', async t => {
  const { strategy } = workflows.get('test.yml')!.jobs['test']!
  t.strictSame(strategy?.matrix['node'], [manifest.engines.node.slice(2), '22', '24', '26'])
  const support = readFileSync('SUPPORT.md', 'utf8')
  for (const version of strategy?.matrix['node'] ?? []) t.match(support, version)
})

t.test('a release takes what npm run release builds', async t => {
  const { jobs, on } = workflows.get('release.yml')!
  t.strictSame(on, { push: { tags: ['v*'] } })
  const runs = (job: string): string => jobs[job]!.steps.map(({ run = '' }) => run).join('\n')
  t.match(runs('build'), 'npm run release -- --build-only')
  t.notOk('permissions' in jobs['build']!, 'who builds may not publish')
  t.match(runs('npm'), 'npm stage publish')
  for (const name of libraries) t.match(runs('npm'), `watchglass-${name} `.trim())
  t.match(runs('files'), '--notes-file "deploy/releases/$GITHUB_REF_NAME.md"')
  t.match(runs('chart'), 'helm push')
})

t.test('the repository is named in package.json, and everywhere as there', async t => {
  t.match(repository, /^[\w-]+\/watchglass$/)
  const root = `https://github.com/${repository}`
  t.equal(manifest.homepage, `${root}#readme`)
  t.equal(manifest.bugs, `${root}/issues`)
  const [owner = ''] = repository.split('/')
  // Whoever moves it changes package.json, and gets the list of the other places from here.
  const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')
  const named =
    /(?:github\.com|raw\.githubusercontent\.com|ghcr\.io)\/(?!orgs\/)([\w-]+)\/(?:charts\/)?watchglass\b/g
  const wrong = files
    .filter(file => !/\.(?:png|gz|bin|ico)$/.test(file) && existsSync(file))
    .flatMap(file =>
      [...readFileSync(file, 'utf8').matchAll(named)]
        .filter(([, other]) => other !== owner)
        .map(([text]) => `${file}: ${text}`),
    )
  t.strictSame(wrong, [])
})

t.test('the chart says what Artifact Hub asks', async t => {
  const chart = parse(readFileSync('deploy/helm/watchglass/Chart.yaml', 'utf8')) as Readonly<
    Record<string, unknown>
  > & { readonly annotations: Readonly<Record<string, string>> }
  const root = `https://github.com/${repository}`
  t.match(chart, {
    home: root,
    sources: [root],
    icon: /\/deploy\/helm\/watchglass\/icon\.svg$/,
    maintainers: [{ name: String, url: `${root}/blob/main/MAINTAINERS.md` }],
    keywords: Array,
  })
  const { annotations } = chart
  for (const name of ['category', 'license', 'images', 'links', 'changes']) {
    t.ok(annotations[`artifacthub.io/${name}`], name)
  }
  const values = parse(readFileSync('deploy/helm/watchglass/values.yaml', 'utf8')) as {
    image: { repository: string; tag: string }
  }
  const image = `${values.image.repository}:${values.image.tag}`
  t.equal(values.image.tag, manifest.version)
  t.match(parse(annotations['artifacthub.io/images'] ?? ''), [{ image }])
  const links = [annotations['artifacthub.io/links'], annotations['artifacthub.io/changes']]
  for (const [, path = ''] of links.join('\n').matchAll(/\/blob\/main\/(\S+)/g)) {
    t.ok(existsSync(path), path)
  }
})

t.test(
  'what is published says where it comes from, and runs nothing when it is installed',
  async t => {
    const hooks = ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare']
    t.strictSame(
      hooks.filter(name => name in manifest.scripts),
      [],
    )
    for (const name of libraries) {
      const published = JSON.parse(
        readFileSync(`dist/packages/${name}/package.json`, 'utf8'),
      ) as Readonly<Record<string, unknown>>
      t.match(published, {
        repository: { url: manifest.repository.url, directory: `lib/${name}` },
        homepage: `https://github.com/${repository}/tree/main/lib/${name}#readme`,
        bugs: manifest.bugs,
      })
      t.notOk('scripts' in published)
    }
  },
)

t.test('what a stranger looks for is at the top', async t => {
  for (const name of ['SECURITY', 'SUPPORT', 'GOVERNANCE', 'MAINTAINERS', 'CODE_OF_CONDUCT']) {
    t.ok(existsSync(`${name}.md`), `${name}.md`)
  }
  for (const name of ['ROADMAP', 'ADOPTERS', 'VERIFY']) t.ok(existsSync(`${name}.md`), name)
  t.match(
    readFileSync('SECURITY.md', 'utf8'),
    `https://github.com/${repository}/security/advisories/new`,
  )
  t.match(readFileSync('.github/CODEOWNERS', 'utf8'), `@${repository.split('/')[0]}/`)
})
