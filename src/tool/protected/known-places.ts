/*
 * The only list of well-known places: where programs keep keys, and which files programs run by themselves. Permission
 * rules, globs of prompt files, the sandbox, the protection of files and docs/known-places.md all use it.
 *
 * A place is a name in any folder, or names separated by slashes; `*` stands for any characters at the start or end of
 * a name. With a slash at the end it is a folder with everything in it, else a file. `~/` means the home folder.
 */

export interface KnownPlaces {
  /** Separated by spaces. */
  readonly places: string
  /** The public document that says what is there. */
  readonly source: string
}

/** Files and folders that hold keys, passwords, or what somebody has typed. */
export const keyPlaces: readonly KnownPlaces[] = [
  { places: '.env*', source: 'dotenv: README; direnv(1)' },
  { places: '.dev.vars*', source: 'Cloudflare Workers: Secrets' },
  { places: '*.pem *.key *.p8', source: 'RFC 7468: Textual Encodings of PKIX, PKCS, and CMS Structures' },
  { places: '*.p12 *.pfx *.pkcs12', source: 'RFC 7292: PKCS #12' },
  { places: '*.jks *.keystore', source: 'keytool(1)' },
  { places: '*.kdbx *.kdb', source: 'KeePass Help: Database File' },
  { places: '*.ppk', source: 'PuTTY User Manual: PPK file format' },
  { places: '*.agekey ~/.config/age/', source: 'age(1)' },
  { places: '*.keychain *.keychain-db ~/Library/Keychains/', source: 'security(1), macOS' },
  {
    places: 'id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .ssh/',
    source: 'ssh(1): FILES; ssh-keygen(1)',
  },
  { places: '.gnupg/', source: 'gpg(1): FILES' },
  { places: '.netrc _netrc', source: 'ftp(1): THE .netrc FILE' },
  { places: '.authinfo .authinfo.gpg', source: 'Emacs auth-source: Help for users' },
  { places: '.pgpass pgpass.conf', source: 'PostgreSQL: The Password File' },
  { places: '.my.cnf .mylogin.cnf', source: 'MySQL Reference Manual: Using Option Files' },
  { places: '.htpasswd', source: 'htpasswd(1)' },
  { places: '.git-credentials ~/.config/git/credentials', source: 'git-credential-store(1): FILES' },
  { places: '.npmrc', source: 'npm: npmrc, Auth related configuration' },
  { places: '~/.yarnrc ~/.yarnrc.yml', source: 'Yarn: Configuration, npmAuthToken' },
  {
    places: '.pypirc ~/.pip/ ~/.config/pip/',
    source: 'Python Packaging User Guide: The .pypirc file; pip: Configuration',
  },
  {
    places: '~/.config/pypoetry/ ~/.config/uv/ ~/.local/share/uv/credentials/',
    source: 'Poetry: Configuration; uv: Authentication',
  },
  { places: '~/.condarc ~/.continuum/', source: 'conda: Using the .condarc conda configuration file' },
  { places: '.cargo/credentials .cargo/credentials.toml', source: 'The Cargo Book: Credentials' },
  { places: '.gem/credentials ~/.bundle/config', source: 'RubyGems Guides: API key; bundle-config(1)' },
  {
    places: '.composer/auth.json .config/composer/auth.json',
    source: 'Composer: Authentication for privately hosted packages',
  },
  { places: '~/.nuget/NuGet/', source: 'nuget.config reference' },
  {
    places:
      '.m2/settings.xml .m2/settings-security.xml ~/.gradle/gradle.properties ~/.sbt/.credentials ~/.ivy2/.credentials',
    source: 'Maven: Settings Reference; Gradle: Build Environment; sbt: Publishing',
  },
  {
    places: '~/.hex/hex.config ~/.pub-cache/credentials.json ~/.config/dart/',
    source: 'Hex: Configuration; dart pub token',
  },
  {
    places: '~/.cocoapods/ ~/.fastlane/ ~/.appstoreconnect/',
    source: 'CocoaPods: Trunk; fastlane: Authenticating with Apple services',
  },
  { places: '.aws/', source: 'AWS CLI User Guide: Configuration and credential file settings' },
  { places: '~/.azure/ ~/.IdentityService/', source: 'Azure CLI: Configuration' },
  { places: '.config/gcloud/ ~/.boto', source: 'gcloud topic configurations; gsutil config' },
  {
    places: '~/.oci/ ~/.bluemix/ ~/.aliyun/ ~/.tccli/ ~/.scw/ ~/.config/scw/',
    source: 'the CLI manuals of these clouds: Configuration files',
  },
  {
    places:
      '~/.config/doctl/ ~/.config/hcloud/ ~/.config/linode-cli ~/.config/vultr-cli.yaml ~/.vultr-cli.yaml ~/.config/exoscale/ ~/.ovh.conf ~/.config/openstack/',
    source: 'doctl auth; hcloud: Setup; linode-cli: Configuration; openstack clouds.yaml',
  },
  {
    places: '~/.s3cfg ~/.config/rclone/ ~/.rclone.conf ~/.mc/ ~/.config/restic/ ~/.config/borg/ ~/.config/rustic/',
    source: 's3cmd(1); rclone config; mc: Configuration; borg: Environment Variables',
  },
  {
    places: '.kube/ ~/.minikube/ ~/.k3d/ ~/.config/k3d/ ~/.talos/',
    source: 'Kubernetes: Organizing Cluster Access Using kubeconfig Files; minikube: Certificates',
  },
  {
    places: '~/.config/helm/ ~/.config/argocd/ ~/.argocd/ ~/.rancher/ ~/.config/openshift/',
    source: 'helm registry login; argocd login',
  },
  {
    places: '.docker/config.json .dockercfg ~/.docker/ ~/.config/containers/ ~/.config/containerd/',
    source: 'docker login; containers-auth.json(5)',
  },
  {
    places: '.terraformrc terraform.rc .terraform.d/ ~/.config/opentofu/ ~/.pulumi/',
    source: 'Terraform: CLI Configuration File; pulumi login',
  },
  { places: '.vault-token ~/.config/sops/', source: 'Vault: Token Helpers; SOPS: README' },
  {
    places:
      '.config/gh/ ~/.config/glab-cli/ ~/.config/hub ~/.config/tea/ ~/.config/berg/ ~/.config/bkt/ ~/.config/github-copilot/ ~/.copilot/',
    source: 'gh auth login; glab auth login; hub(1); tea login',
  },
  {
    places: '~/.circleci/ ~/.travis/ ~/.config/act/ ~/.buildkite/ ~/.config/buildkite.yaml',
    source: 'CircleCI CLI: Configuration; travis login',
  },
  {
    places:
      '~/.config/heroku/ ~/.fly/ ~/.netlify/ ~/.config/netlify/ ~/.vercel/ ~/.local/share/com.vercel.cli/ ~/.wrangler/ ~/.config/.wrangler/ ~/.railway/ ~/.supabase/ ~/.render/ ~/.cloudflared/ ~/.config/configstore/ ~/.surge ~/.expo/ ~/.config/turborepo/ ~/.config/turso/ ~/.config/planetscale/ ~/.config/neonctl/ ~/.convex/ ~/.amplify/ ~/.serverlessrc ~/.firebase/',
    source: 'the login commands of the CLIs of these hosts',
  },
  {
    places:
      '~/.config/stripe/ ~/.twilio-cli/ .sentryclirc ~/.shopify/ ~/.config/ngrok/ ~/.ngrok2/ ~/.config/algolia/ ~/.newrelic/ ~/.datadog/ ~/.dogrc',
    source: 'stripe login; Sentry CLI: Configuration; ngrok agent configuration',
  },
  {
    places:
      '~/.databrickscfg ~/.snowflake/ ~/.snowsql/ ~/.dbt/ ~/.kaggle/ ~/.bigqueryrc ~/.mongodb/ ~/.config/mongocli.toml ~/.config/atlascli/ ~/.mongorc.js',
    source: 'Databricks: Authentication; SnowSQL: Configuring; dbt: profiles.yml; Kaggle API',
  },
  {
    places:
      '.streamlit/secrets.toml ~/.jupyter/jupyter_server_config.json ~/.jupyter/jupyter_notebook_config.json ~/.config/wandb/ ~/.wandb/ ~/.comet.config ~/.clearml.conf ~/clearml.conf ~/.mlflow/',
    source: 'Streamlit: Secrets management; wandb login; jupyter server password',
  },
  {
    places:
      '~/.huggingface/ ~/.cache/huggingface/token ~/.cache/huggingface/stored_tokens ~/.replicate/ ~/.config/replicate/ ~/.modal.toml ~/.lightning/ ~/.runpod/',
    source: 'Hugging Face Hub: Environment variables, HF_TOKEN_PATH; modal token',
  },
  {
    places:
      '~/.claude/ ~/.claude.json ~/.config/claude/ ~/.codex/ ~/.gemini/ ~/.cursor/ ~/.config/cursor/ ~/.continue/ ~/.aider* ~/.anthropic/ ~/.config/anthropic/ ~/.openai/ ~/.config/openai/ ~/.qwen/ ~/.grok/ ~/.config/goose/ ~/.local/share/goose/ ~/.config/opencode/ ~/.local/share/opencode/ ~/.config/crush/ ~/.local/share/crush/ ~/.local/share/amp/ ~/.config/amp/ ~/.factory/ ~/.kiro/ ~/.amazonq/ ~/.augment/ ~/.codeium/ ~/.windsurf/ ~/.trae/ ~/.roo/ ~/.cline/ ~/.kilocode/ ~/.openhands/ ~/.warp/ ~/.config/io.datasette.llm/ ~/.config/aichat/ ~/.config/mods/ ~/.config/fabric/ ~/.config/shell_gpt/ ~/.config/zed/ ~/.tabnine/ ~/.sourcegraph/ ~/.config/sourcegraph/ ~/.llm/ ~/.iflow/ ~/.junie/ ~/.devin/ ~/.aipack-base/',
    source: 'the settings and authentication pages of these agents',
  },
  {
    places:
      '~/.password-store/ ~/.config/gopass/ ~/.local/share/gopass/ ~/.config/op/ ~/.op/ ~/.config/Bitwarden*/ ~/.config/rbw/ ~/.local/share/rbw/ ~/.lastpass/ ~/.local/share/lpass/ ~/.config/keepassxc/ ~/.config/1Password/ ~/.config/enpass/ ~/.dashlane/',
    source: 'pass(1); op; bw; rbw; lpass(1)',
  },
  {
    places:
      '~/.local/share/keyrings/ ~/.local/share/gnome-keyring/ ~/.local/share/kwalletd/ ~/.kde/share/apps/kwallet/ ~/.config/libaccounts-glib/ ~/.pki/ ~/.local/share/pki/ ~/.krb5/ ~/.globus/ ~/.local/share/mkcert/ ~/.step/ ~/.acme.sh/ ~/.config/letsencrypt/ ~/.config/caddy/ ~/.local/share/caddy/ ~/.config/Yubico/',
    source: 'Secret Service API; certutil(1); mkcert: README; step: Configuration; kerberos(7)',
  },
  {
    places:
      '~/.mozilla/ ~/.thunderbird/ ~/.config/google-chrome*/ ~/.config/chromium*/ ~/.config/BraveSoftware/ ~/.config/microsoft-edge*/ ~/.config/opera*/ ~/.config/vivaldi*/ ~/.librewolf/ ~/.zen/ ~/.waterfox/ ~/.tor-browser/ ~/.local/share/qutebrowser/ ~/.config/Slack/ ~/.config/discord*/ ~/.config/Signal*/ ~/.local/share/TelegramDesktop/ ~/.config/Element/ ~/.config/teams*/ ~/.config/keybase/ ~/.local/share/evolution/ ~/.var/app/ ~/snap/',
    source: 'the profile folders of these browsers and messengers, by their support pages',
  },
  {
    places: '~/.purple/ ~/.weechat/ ~/.config/weechat/ ~/.irssi/ ~/.config/hexchat/ ~/.local/share/profanity/',
    source: 'libpurple; weechat(1); irssi(1)',
  },
  {
    places:
      '~/.msmtprc ~/.config/msmtp/ ~/.mutt/ ~/.muttrc ~/.config/mutt/ ~/.config/neomutt/ ~/.neomuttrc ~/.fetchmailrc ~/.getmail/ ~/.mbsyncrc ~/.isyncrc ~/.config/isyncrc ~/.offlineimaprc ~/.config/offlineimap/ ~/.mailrc ~/.config/aerc/ ~/.config/himalaya/ ~/.esmtprc ~/.config/vdirsyncer/ ~/.davfs2/ ~/.config/khal/',
    source: 'msmtp(1); mutt(1); fetchmail(1); mbsync(1); offlineimap(1); aerc(1)',
  },
  {
    places:
      '~/.wgetrc ~/.config/wget/ ~/.curlrc ~/.config/curlrc ~/.config/.curlrc ~/.lftprc ~/.lftp/ ~/.config/lftp/ ~/.ncftp/ ~/.config/filezilla/ ~/.smbcredentials ~/.config/yt-dlp/ ~/.aria2/ ~/.config/httpie/ ~/.httpie/ ~/.config/hurl/',
    source: 'wget(1): .wgetrc; curl(1): --config; lftp(1); HTTPie: Sessions',
  },
  {
    places:
      '~/.config/Postman/ ~/.postman/ ~/.config/Insomnia/ ~/.config/DBeaverData/ ~/.local/share/DBeaverData/ ~/.dbeaver*/ ~/.config/JetBrains/ ~/.local/share/JetBrains/ ~/.config/Code/User/globalStorage/ ~/.config/Cursor/ ~/.config/Windsurf/ ~/.config/VSCodium/User/globalStorage/ ~/.vscode-server/data/User/globalStorage/',
    source: 'VS Code: Extension API, globalStorage; DBeaver: Security; JetBrains: Directories used by the IDE',
  },
  {
    places:
      '~/.config/wireguard/ ~/.config/tailscale/ ~/.config/openvpn/ ~/.openvpn/ ~/.cisco/ ~/.config/NetworkManager/ ~/.vpn/ ~/.tsh/ ~/.config/boundary/ ~/.zerotier-one/',
    source: 'wg(8); tailscale(8); tsh: Configuration',
  },
  {
    places:
      '~/.config/environment.d/ ~/.Xauthority ~/.ICEauthority ~/.config/systemd/user/ ~/.pam_environment ~/.config/rustic.toml',
    source: 'environment.d(5); xauth(1); systemd.exec(5): Environment',
  },
  {
    places:
      '~/.*_history ~/.histfile ~/.lesshst ~/.viminfo ~/.local/share/fish/ ~/.local/share/atuin/ ~/.config/atuin/ ~/.local/share/nushell/ ~/.config/nushell/history* ~/.local/state/bash/ ~/.local/state/zsh/ ~/.zsh_sessions/ ~/.bash_sessions/ ~/.local/share/powershell/ ~/.local/share/recently-used.xbel ~/.xonsh_history* ~/.local/share/xonsh/ ~/.ipython/profile_default/history.sqlite',
    source: 'bash(1): HISTFILE; fish(1); atuin; nushell: Configuration; viminfo, in :help starting',
  },
  {
    places:
      '~/.bitcoin/ ~/.ethereum/ ~/.electrum/ ~/.litecoin/ ~/.monero/ ~/.bitmonero/ ~/.config/solana/ ~/.near-credentials/ ~/.foundry/keystores/ ~/.brownie/ ~/.config/Exodus/ ~/.config/Ledger*/ ~/.lnd/ ~/.sui/ ~/.aptos/',
    source: 'the data directories of these wallets, by their manuals',
  },
]

/** Files that programs run, or take commands from, without being asked for the commands of this project. */
export const runPlaces: readonly KnownPlaces[] = [
  { places: '.envrc .direnv/ .autoenv .autoenv.zsh .autoenv_leave.zsh', source: 'direnv(1); autoenv: README' },
  {
    places:
      'mise.toml .mise.toml mise.*.toml .mise.*.toml mise/config.toml mise/config.*.toml .mise/config.toml .mise/config.*.toml .mise/tasks/ .mise/conf.d/ mise/conf.d/ .config/mise.toml .config/mise.*.toml .rtx.toml',
    source: 'mise: Configuration; Hooks',
  },
  {
    places: 'devbox.json devenv.nix devenv.yaml .flox/ .hermit/ rust-toolchain rust-toolchain.toml',
    source: 'Devbox: init_hook; devenv: enterShell; rustup: Custom toolchains',
  },
  {
    places:
      '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .xonshrc config.fish fish/conf.d/ .inputrc .tmux.conf .screenrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment .hushlogin',
    source: 'bash(1): INVOCATION; zsh(1): STARTUP/SHUTDOWN FILES; fish(1); tmux(1)',
  },
  {
    places: '.config/autostart/ .config/systemd/ LaunchAgents/ LaunchDaemons/',
    source: 'Desktop Application Autostart Specification; systemd.unit(5); launchd.plist(5)',
  },
  {
    places: '.gitattributes .gitmodules .gitconfig .githooks/ .git-hooks/',
    source: 'gitattributes(5); gitmodules(5); git-config(1); githooks(5)',
  },
  {
    places:
      '.husky/ .huskyrc* .lefthook/ lefthook.* .lefthook.* lefthook-local.* .lefthook-local.* .config/lefthook.* .lefthook-local/ .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml prek.toml .overcommit.yml .local-overcommit.yml .git_hooks/ .lintstagedrc* lint-staged.config.* .simple-git-hooks.* simple-git-hooks.* captainhook.json .captainhook.json grumphp.yml grumphp.yml.dist .yorkie/ .hooks/ .nano-staged.* nano-staged.* .hg/ hgrc',
    source:
      'husky; lefthook: Config file name; pre-commit; Overcommit; lint-staged; simple-git-hooks; CaptainHook; GrumPHP; hg(1)',
  },
  {
    places:
      'package.json binding.gyp .npmrc .yarnrc .yarnrc.yml .yarn/releases/ .yarn/plugins/ .yarn/sdks/ .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs .pnpmfile.mjs pnpmfile.cjs .bunfig.toml bunfig.toml',
    source: 'npm: scripts, Life Cycle Scripts; Yarn: yarnPath; pnpm: .pnpmfile.cjs; Bun: bunfig.toml',
  },
  {
    places:
      'pip.conf pip.ini .pypirc .condarc uv.toml .pydistutils.cfg sitecustomize.py usercustomize.py *.pth .pythonrc .pythonrc.py',
    source: 'Python: site, Site-specific configuration hook; pip: Configuration; uv: Configuration files',
  },
  { places: '.gemrc .bundle/ .rubyopt', source: 'gem environment; bundle-config(1)' },
  { places: '.cargo/', source: 'The Cargo Book: Configuration' },
  {
    places: '.mvn/ gradle/wrapper/ .gradle/ init.gradle init.gradle.kts .sbtopts .jvmopts .sbtrc',
    source: 'Maven: Configuring Apache Maven; Gradle: The Gradle Wrapper; Initialization Scripts',
  },
  {
    places: '.bazelrc *.bazelrc .bazeliskrc tools/bazel',
    source: 'Bazel: Write bazelrc configuration files; Bazelisk: README',
  },
  { places: 'nuget.config .config/dotnet-tools.json', source: 'nuget.config reference; dotnet tool' },
  {
    places:
      '.github/workflows/ .github/actions/ .github/hooks/ action.yml action.yaml .gitea/workflows/ .gitea/actions/ .forgejo/workflows/ .forgejo/actions/',
    source: 'GitHub Actions: Workflow syntax; Metadata syntax; Gitea Actions; Forgejo Actions',
  },
  {
    places:
      '.gitlab-ci.yml .gitlab-ci.yaml .gitlab/ci/ .gitlab-ci/ .circleci/ .buildkite/ .woodpecker/ .woodpecker.yml .woodpecker.yaml .semaphore/ .teamcity/ .tekton/ .builds/ .build.yml .drone.yml .drone.yaml .drone.star .drone.jsonnet .travis.yml appveyor.yml .appveyor.yml .cirrus.yml .cirrus.star azure-pipelines* .azure-pipelines/ .azure/pipelines/ .azuredevops/ .vsts-ci.yml bitbucket-pipelines.yml jenkinsfile jenkinsfile.* *.jenkinsfile cloudbuild.yaml cloudbuild.yml cloudbuild.json buildspec.yml buildspec.yaml amplify.yml codemagic.yaml bitrise.yml wercker.yml screwdriver.yaml .screwdriver.yaml .harness/ .zuul.yaml .zuul.d/ zuul.yaml zuul.d/ .evergreen.yml evergreen.yml .taskcluster.yml .packit.yaml .packit.yml .readthedocs.yaml .readthedocs.yml .scrutinizer.yml .shippable.yml shippable.yml .buddy/ buddy.yml .kokoro/ .ci-operator.yaml .prow.yaml .concourse/ .werft/ .agola/ .onedev-buildspec.yml .space.kts .cds/ .codebuild/ .codepipeline/ .xcode/ ci_scripts/',
    source: 'the configuration references of these CI systems',
  },
  {
    places:
      '.vscode/ *.code-workspace .vscodium/ .idea/ .run/ .fleet/ .zed/ .vs/ .nova/ .helix/ .lapce/ *.sublime-project .atom/ .theia/',
    source: 'VS Code: Tasks, Workspace settings; JetBrains: Run/debug configurations; Zed: Tasks; Helix: Languages',
  },
  {
    places:
      '.exrc .vimrc _vimrc .gvimrc .lvimrc .local.vimrc .nvimrc .nvim.lua .nvim/ .vim/ .vimspector.json .ycm_extra_conf.py .neoconf.json .luarc.json .luarc.jsonc',
    source: "Vim: 'exrc'; Neovim: 'exrc'; localvimrc; YouCompleteMe: .ycm_extra_conf.py; lua-language-server: Settings",
  },
  {
    places: '.dir-locals.el .dir-locals-2.el .emacs .emacs.d/ .spacemacs .dir-locals.d/',
    source: 'GNU Emacs Manual: Per-Directory Local Variables',
  },
  {
    places:
      '.devcontainer/ .devcontainer.json devcontainer.json .gitpod.yml .gitpod.dockerfile .gitpod/ .replit replit.nix .idx/ .codesandbox/ .stackblitzrc devfile.yaml .devfile.yaml .coder/ .ona/ .daytona/ .nitrous.json',
    source: 'Development Containers Specification; Gitpod: .gitpod.yml; Replit: .replit; devfile',
  },
  {
    places:
      '.claude/ .codex/ .cursor/ .gemini/ .windsurf/ .opencode/ opencode.json opencode.jsonc .qwen/ .kiro/ .roo/ .roomodes .cline/ .clinerules/ .amazonq/ .continue/ .crush.json crush.json .crush/ .factory/ .trae/ .junie/ .augment/ .kilocode/ .kilocodemodes .zencoder/ .openhands/ .rovodev/ .warp/ .amp/ .copilot/ .grok/ .vibe/ .iflow/ .qoder/ .codebuddy/ .void/ .pearai/ .tabnine/ .devin/ .goose/ .firebender/ .aiassistant/ .aider.conf.yml .mcp/ mcp.json mcp_config.json mcp_settings.json .cursorrules .codeium/ .sourcegraph/ .lingma/ .refact/ .letta/ .mentat/ .plandex/',
    source: 'the pages on project settings, hooks and MCP servers of these agents',
  },
  {
    places:
      '.ghci .rprofile .renviron .iex.exs .irbrc .pryrc .rdbgrc .byebugrc .psqlrc .sqliterc .mongorc.js .mongoshrc.js .gdbinit .lldbinit .pdbrc .pdbrc.py .perldb .ocamlinit .octaverc .erlang .nrepl.edn .jshellrc .noderc .ammonite/ startup.jl .sagemathrc .radare2rc .cdsinit',
    source: 'the manuals of these interpreters and debuggers: startup files',
  },
]
