import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { commands } from '../../lib/cli/commands/commands.ts'
import { load } from '../../lib/cli/commands/command-line.ts'
import { variableOf } from '../../lib/cli/options/option.ts'
import { configuredResource } from '../../lib/cli/commands/plan/configured-resources.ts'
import { startServed } from '../support/http/served.ts'

interface Container {
  readonly name: string
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly [probe: `${string}Probe`]: {
    readonly httpGet: { readonly path: string; readonly port: string }
  }
}

interface Manifest {
  readonly kind: string
  readonly data?: Readonly<Record<string, string>>
  readonly resources?: readonly string[]
  readonly patches?: readonly { readonly path?: string }[]
  readonly spec?: {
    readonly template?: {
      readonly spec: {
        readonly containers: readonly Container[]
        readonly volumes: readonly { readonly name: string }[]
      }
    }
  }
}

const files = readdirSync('deploy/kubernetes', { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.yaml'))
  .map(file => join('deploy/kubernetes', file))

function manifestsIn(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map(document => {
    if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join('; ')}`)
    return document.toJS() as Manifest
  })
}

t.test('every manifest is well-formed, and each kustomization takes in what is there', async t => {
  for (const file of files) {
    for (const { kind, resources, patches } of manifestsIn(file)) {
      t.ok(kind, file)
      if (!file.endsWith('kustomization.yaml')) continue
      const named = [...(resources ?? []), ...(patches ?? []).map(({ path }) => path)]
      const taken = named.filter(path => path?.endsWith('.yaml')) as string[]
      const beside = files.filter(other => dirname(other) === dirname(file) && other !== file)
      t.strictSame(taken.map(path => join(dirname(file), path)).toSorted(), beside.toSorted())
    }
  }
})

t.test(
  'containers are started with options that there are, and probed where they listen',
  async t => {
    const containers = files
      .flatMap(manifestsIn)
      .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
      .filter(({ name }) => name === 'watchglass')
    t.equal(containers.length, 3)
    for (const { args, ports, securityContext, volumeMounts, ...rest } of containers) {
      const invocation = load(args, {})
      if (invocation.kind !== 'run') throw new Error('the container runs nothing')
      const { values } = invocation
      t.equal(securityContext['readOnlyRootFilesystem'], true)
      t.equal(securityContext['allowPrivilegeEscalation'], false)
      const probes = Object.entries(rest).filter(([name]) => name.endsWith('Probe'))
      t.ok(probes.length >= 2)
      const admin = ports.find(({ name }) => name === 'admin')
      t.match(values.text('admin-listen'), new RegExp(`:${admin?.containerPort}$`))
      for (const [, probe] of probes) {
        const { httpGet } = probe as Container['livenessProbe']
        t.match(httpGet, { path: /^\/(readyz|livez)$/, port: 'admin' })
      }
      for (const [, path = ''] of args.join(' ').matchAll(/=(\/etc\/watchglass\/[a-z]+)\//g)) {
        t.ok(
          volumeMounts.some(({ mountPath }) => mountPath === path),
          path,
        )
      }
    }
  },
)

interface Rule {
  readonly from?: readonly unknown[]
  readonly to?: readonly unknown[]
  readonly ports: readonly { readonly port: number }[]
}

t.test(
  'policies let nobody to the admin port but who scrapes it, and nothing out to everywhere',
  async t => {
    const policies = files.filter(file => file.endsWith('network-policy.yaml')).flatMap(manifestsIn)
    t.equal(policies.length, 3)
    for (const { spec } of policies) {
      const { ingress, egress } = spec as unknown as Record<'ingress' | 'egress', readonly Rule[]>
      for (const { from, ports } of ingress) {
        if (ports.some(({ port }) => port === 8444)) t.equal(from?.length, 1)
      }
      for (const { to } of egress) t.ok((to?.length ?? 0) > 0)
      t.notMatch(JSON.stringify(egress), /"0\.0\.0\.0/)
    }
  },
)

interface Role {
  readonly rules?: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

t.test('no account of ours may read Secrets', async t => {
  const roles = files.flatMap(manifestsIn).filter(({ kind }) => kind.endsWith('Role'))
  t.ok(roles.length > 0)
  for (const { rules = [] } of roles as readonly (Manifest & Role)[]) {
    for (const { apiGroups, resources } of rules) {
      const isCore = apiGroups.some(group => group === '' || group === '*')
      t.notOk(isCore && resources.some(name => name === 'secrets' || name === '*'))
    }
  }
})

t.test('an account that compares lists may compare gets, too', async t => {
  const roles = files.flatMap(manifestsIn).filter(({ kind }) => kind.endsWith('Role'))
  const lists = (roles as readonly (Manifest & Role)[])
    .flatMap(({ rules = [] }) => rules)
    .filter(({ verbs }) => verbs.includes('list'))
  t.ok(lists.length > 2)
  for (const { verbs, resources } of lists) t.ok(verbs.includes('get'), resources.join())
})

t.test('the worked example of the sidecar can be read', async t => {
  const text = readFileSync('docs/SIDECAR.md', 'utf8')
  const [, yaml = ''] = /```yaml\n([^`]+)```/.exec(text) ?? []
  const [list] = parseAllDocuments(yaml).map(document => document.toJS() as unknown[])
  t.equal(list?.map(configuredResource).length, 1)
  const [, line = ''] = /watchglass (serve [^`]+)```/.exec(text) ?? []
  const args = line.split(/[\s\\]+/).filter(word => word !== '')
  t.equal(load(args, {}).kind, 'run')
})

t.test('the README and the unit speak of variables, options and files that there are', async t => {
  const readme = readFileSync('deploy/README.md', 'utf8')
  const options = commands.serve.options
  const variables = new Set(options.map(variableOf))
  for (const [, variable = ''] of readme.matchAll(/^(WATCHGLASS_[A-Z_]+)=/gm)) {
    t.ok(variables.has(variable), variable)
  }
  const known = new Set(options.map(({ name }) => name))
  const others =
    /^(arch$|version$|clusterrole$|days$|decode$|flatten$|minify$|output$|raw$|serviceaccount$|set$|dry-run$|entrypoint$|format$|etcd-servers-overrides$|global$|package$|single-threaded-gc$|requestheader-client-ca-file$|max-|file|tag|namespace|from-|filename|kustomize|server|tls-server|certificate|token$|cert$|key$)/
  for (const [, name = ''] of readme.matchAll(/`?--([a-z][a-z-]+)/g)) {
    t.ok(known.has(name) || others.test(name), `--${name}`)
  }
  for (const [path] of readme.matchAll(/deploy\/[A-Za-z/.-]*[A-Za-z]/g)) {
    t.ok(existsSync(path), path)
  }
  const unit = readFileSync('deploy/systemd/watchglass.service', 'utf8')
  t.match(
    unit,
    /ExecStart=\/usr\/bin\/node --enable-source-maps \S+\/dist\/program\/cli\.js serve\n/,
  )
})

t.test('the image is made of files that there are', async t => {
  const dockerfile = readFileSync('deploy/Dockerfile', 'utf8')
  for (const [, sources = ''] of dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
    for (const path of sources.split(' ')) t.ok(existsSync(path), path)
  }
  const [, stage = ''] = dockerfile.split(/^FROM (?=.*\}$)/m)
  t.match(stage, /^COPY --from=build .*\/src\/sbom\.cdx\.json /m, 'its packages are listed inside')
  t.match(dockerfile, /^USER 65532/m)
  t.match(dockerfile, /^ARG NODE_IMAGE=node:24-\S+@sha256:[0-9a-f]{64}$/m)
  t.match(dockerfile, /\/app\/dist\/program\/cli\.js/)
})

t.test('the image is healthy while the server lives', async t => {
  const dockerfile = readFileSync('deploy/Dockerfile', 'utf8')
  const [, command = ''] = /^HEALTHCHECK (?:.*\\\n)?\s*CMD (\[.+\])$/m.exec(dockerfile) ?? []
  const [program, ...args] = JSON.parse(command) as string[]
  t.equal(program, 'node')
  const exitCode = async (address: string | undefined): Promise<unknown> => {
    const env = address === undefined ? {} : { WATCHGLASS_ADMIN_LISTEN: address }
    return promisify(execFile)(process.execPath, args, { env }).then(
      () => 0,
      (error: { code: unknown }) => error.code,
    )
  }
  const { service } = await startServed(t)
  const address = `http://0.0.0.0:${service.port}`
  t.equal(await exitCode(address), 0)
  await service.stop()
  t.equal(await exitCode(address), 1, 'nobody listens')
  t.equal(await exitCode(undefined), 1, 'nobody says where')
  // Where the manifests listen is where the image asks.
  const [, port = ''] = /WATCHGLASS_ADMIN_LISTEN=http:\/\/127\.0\.0\.1:(\d+)/.exec(dockerfile) ?? []
  t.match(readFileSync('deploy/kubernetes/proxy/deployment.yaml', 'utf8'), `0.0.0.0:${port}`)
})
