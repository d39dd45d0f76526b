/** The objects that are written: a small one, and a common one with lists that have keys. */

export interface Sample {
  readonly kind: string
  /** Names begin with it. */
  readonly name: string
  readonly of: { readonly group: string; readonly version: string; readonly resource: string }
  /** Place of the objects in etcd, in the namespace `ns`. */
  readonly keyspace: string
  object(name: string, change: string): object
  patch(change: string): object
}

const text = 'key: value\n'.repeat(20)

const configMap: Sample = {
  kind: 'ConfigMap',
  name: 'config',
  of: { group: '', version: 'v1', resource: 'configmaps' },
  keyspace: '/registry/configmaps/ns/',
  object: (name, change) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'ns', labels: { app: 'bench' } },
    data: { 'settings.yaml': text, change },
  }),
  patch: change => ({ data: { change } }),
}

const deployment: Sample = {
  kind: 'Deployment',
  name: 'app',
  of: { group: 'apps', version: 'v1', resource: 'deployments' },
  keyspace: '/registry/deployments/ns/',
  object: (name, change) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'ns', labels: { app: name } },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations: { change } },
        spec: {
          containers: ['web', 'proxy'].map(container => ({
            name: container,
            image: `registry.example/${container}:1.2.3`,
            ports: [{ name: `${container}-http`, containerPort: 8080 }],
            env: [
              { name: 'LEVEL', value: 'info' },
              { name: 'CHANGE', value: change },
            ],
            resources: {
              requests: { cpu: '100m', memory: '128Mi' },
              limits: { memory: '256Mi' },
            },
            readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 5 },
            volumeMounts: [{ name: 'config', mountPath: '/etc/app' }],
          })),
          volumes: [{ name: 'config', configMap: { name: 'app-config' } }],
        },
      },
    },
  }),
  patch: change => ({ spec: { template: { metadata: { annotations: { change } } } } }),
}

export const samples: readonly Sample[] = [configMap, deployment]
