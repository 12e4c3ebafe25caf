//! English words and phrases, by meaning. Separated by commas; a phrase has spaces. Regular endings (-s, -ed, -ing)
//! are found without being listed.

use super::concept::Concept::{self, *};

pub(super) const WORDS: &[(Concept, &str)] = &[
    (
        Load,
        "consumption, load, loads, loaded, load average, loadavg, load avg, overloaded, busy, utilization, utilisation, utilized, \
        usage, strain, strained, stress, stressed, pressure, psi, vitals, performance, perf, overload, maxed out, pegged, \
        resources, resource, workload, under load, stats, statistics, metrics, metric, health check, healthcheck, sweating, struggling, \
        capacity, headroom, idle, hammered, swamped, w, vmstat, sar, burdened, taxed, saturated, throughput",
    ),
    (Cpu, "cpu, cpus, processor, processors, core, cores, compute, cycles, cpu time"),
    (
        Mem,
        "memory, mem, ram, rss, resident, heap, memories, free -m, free -h, memory footprint, footprint, gigs",
    ),
    (Swap, "swap, swapping, swapped, paging"),
    (
        Disk,
        "disk, disks, storage, filesystem, filesystems, file system, file systems, partition, partitions, mount, mounts, \
        df, drive, drives, ssd, hdd, volume, volumes, disk space, root partition, inode, inodes, lsblk, rootfs",
    ),
    (
        Space,
        "du, taking up space, takes up space, take up space, taking space, taking up disk space, taking up all the space, using space, uses space, \
        using disk space, uses disk space, using up disk space, using the disk space, using up space, eating space, eating disk space, eating up disk space, \
        eating up space, size of, how big, how large, folder size, folder sizes, directory size, directory sizes, space hogs, space usage, du -sh, \
        disk usage of, disk usage in, disk usage below, disk usage under, filling up the disk, filling the disk",
    ),
    (
        Large,
        "largest, biggest, largest files, biggest files, large files, huge files, big files, largest file, biggest file, large logs, big logs",
    ),
    (
        Listing,
        "ls, ls -l, ls -la, ls -al, ls -lh, list files, list the files, list all files, list directory, list the directory, list folder, \
        list the folder, directory listing, what files, which files, contents of the directory, contents of the folder, \
        contents of directory, contents of folder, files in, files are in, files there are in",
    ),
    (
        Stat,
        "stat, permissions, permissions of, permissions on, file permissions, file mode, owner of, who owns, last modified, modification time, mtime, \
        file size",
    ),
    (
        Listen,
        "listening, listens, listen, listener, listeners, listening ports, listening sockets, open ports, open sockets, ports open, ports are open, sockets, netstat, \
        ss, ss -tlnp, netstat -tlnp, lsof -i, established connections, open connections, active connections, tcp connections, network connections, \
        host_sockets",
    ),
    (
        Netns,
        "network namespace, network namespaces, netns, net namespaces, net namespace, ip netns, host_netns_inspect",
    ),
    (
        Io,
        "io, iops, iowait, io wait, disk io, disk activity, disk writes, disk reads, writes to disk, disk read, disk write, iotop, iostat, \
        reading and writing, writing to disk, reading from disk, disk bandwidth, disk access, disk accesses, thrashing the disk, read and write",
    ),
    (
        Fds,
        "fds, fd, file descriptors, file descriptor, open files, descriptors, filehandles, file handles, handles, lsof, open file, files open",
    ),
    (
        Net,
        "bandwidth, traffic, network traffic, network usage, network throughput, network, nic, interface, interfaces, packets, eth0, networking",
    ),
    (Temp, "temperature, temperatures, temp, temps, hot, thermal, thermals, overheating, heat, sensors"),
    (
        Uptime,
        "uptime, up since, been up, been running, last reboot, last rebooted, last booted, last boot, last restarted, boot time, booted, \
        rebooted, been on, been online for, how long since, was rebooted, been rebooted",
    ),
    (
        Process,
        "process, processes, proc, procs, ps, ps aux, ps -ef, task, tasks, program, programs, htop, pids, pid, process id, threads, thread, workers, worker, commands, \
        apps, application, applications, app, executables, cmd, top output, task manager, tasklist, zombie, zombies",
    ),
    (
        PerProcess,
        "by process, per process, by processes, each process, per-process, by program, per app, by app",
    ),
    (Service, "service, services, unit, units, daemon, daemons, systemd, systemctl, svc"),
    (
        Log,
        "log, logs, logged, logging, logfile, log file, log files, logfiles, log entries, log messages, log lines, log output, logline, loglines, \
        complain, complaining, complains, complaints, said, say, saying, says, messages, entries, output, print, spit out, spitting",
    ),
    (
        Journal,
        "journal, journald, journalctl, systemd journal, system log, system logs, event log, event logs, journals, syslog, system journal, syslogs",
    ),
    (
        Kernel,
        "dmesg, kernel, kernel log, kernel logs, kernel messages, kernel ring buffer, segfault, segfaults, kernel panic, call trace",
    ),
    (
        Oom,
        "oom, out of memory, oom killer, oom-killer, oomkilled, oom kills, oom killed, killed by oom, ran out of memory",
    ),
    (
        Login,
        "failed login, failed logins, login failures, login failure, failed ssh logins, failed ssh login, login attempts, failed passwords, \
        failed password, ssh failures, authentication failures, auth failures, brute force, failed authentication, ssh login failures, \
        invalid users, failed ssh attempts, bad logins, bad passwords, failed ssh, ssh attempts, authentication failure, bruteforce, who logged in, \
        logged in, failed login attempts, failed auth",
    ),
    (
        Mail,
        "mail server, mail servers, mail exchanger, mail exchangers, handles mail, handle mail, mail handler, email, mail, mails, mailserver, receives mail, spf, dmarc, dkim",
    ),
    (Database, "database, databases, db, dbms, the db, db server, database server"),
    (
        File,
        "file, files, contents, content, document, largest files, biggest files, large files, huge files, big files, largest file, biggest file",
    ),
    (Config, "config, configuration, conf, settings, configs, configuration file, config file"),
    (Port, "port, ports, tcp port, tcp ports, port number"),
    (
        Tcp,
        "tcp, telnet, nc, netcat, ncat, socket, sockets, handshake, tcp connect, tcp probe, tcp connection, probe_tcp, port check, port scan, nmap",
    ),
    (
        Dns,
        "dns, nslookup, dig, dns record, dns records, dns lookup, name resolution, zone, domain name, hostname lookup, probe_dns, dns check, dns entry, dns entries",
    ),
    (Record, "record, records, entry"),
    (
        Resolve,
        "resolve, resolves, resolving, resolution, lookup, look up, lookups, ip address, ip addresses, ip of, ip for, what ip, which ip, point to, points to, point, ipv6 address, ipv4 address, ip addresses of, point at, points at, \
        pointing to, pointing at, resolvable, address of, reverse lookup, reverse, map to, maps to, ips",
    ),
    (Server53, "nameserver, name server, dns server, resolver"),
    (
        Web,
        "website, websites, site, sites, webpage, web page, homepage, home page, url, urls, endpoint, endpoints, http, https, web, \
        landing page, http status, status code, response code, http code, http request, http check, page, webserver, web server, api, healthz, \
        probe_http, get request, http get, web site, frontend, response time, latency, ttfb, http response",
    ),
    (Curl, "curl, wget, fetch, download, httpie, hit, request, GET, load the page, open the page"),
    (HeadMethod, "head request, head, HEAD, headers only, http head, headers, header"),
    (
        Cert,
        "certificate, certificates, cert, certs, ssl, tls, ssl cert, tls cert, ssl certificate, tls certificate, https certificate, x509, expiry, expire, expires, expiring, \
        expiration, expired",
    ),
    (
        Redirect,
        "redirect, redirects, redirection, redirections, follow redirects, following redirects, redirected",
    ),
    (
        Host,
        "host, server, machine, box, node, vm, instance, computer, system, pc, droplet, hardware, the os, workstation",
    ),
    (
        Hosts,
        "hosts, servers, machines, boxes, nodes, vms, instances, computers, edges, agents, systems, devices, hostnames",
    ),
    (Edge, "edge, agent"),
    (Fleet, "fleet, inventory, estate, infrastructure, infra, cluster, query_edges, park"),
    (User, "user, owner, owned by, belonging to, run by, running as, started by, users, owned"),
    (Label, "label, labels, labelled, labeled, tag, tags, tagged, role, env"),
    (Result, "result, results, previous output, last result, previous result"),
    (
        Timeout,
        "timeout, time out, wait at most, within, max wait, time limit, deadline, waiting at most, timeout of",
    ),
    (Emerg, "emerg, emergency, emergencies, panic"),
    (Alert, "alert priority, alerts"),
    (Crit, "critical, crit, criticals, severe"),
    (
        Error,
        "error, errors, err, errs, error level, priority err, exceptions, exception, stack trace, stack traces, stacktrace, traceback, tracebacks",
    ),
    (Warn, "warning, warnings, warn, warns"),
    (Notice, "notice, notices"),
    (Info, "info level, info messages, priority info, informational"),
    (Debug, "debug, debug level, debug messages"),
    (
        Show,
        "show, list, display, print, give, get, see, view, dump, tell, pull, pull up, bring up, report, find out, output, showing, \
        let us see, show me, need to see, want to see, gather, collect, grab, present, inform, listing, name, look, enumerate, share",
    ),
    (
        Check,
        "check, test, verify, probe, examine, inspect, make sure, see if, see whether, confirm, look at, investigate, diagnose, debug this, \
        take a look, have a look, look into, checking, checkup, ensure, try, validate, monitor, assess, audit, find out if, checks, double check, peek",
    ),
    (
        Read,
        "read, cat, contents of, content of, inside, open the file, less, what is in, view the file, more of the file, type out, bat, show file, open up, \
        written in, head -n, first bytes, what does it say, print out",
    ),
    (
        Tail,
        "tail, tailing, last lines, end of, the end of, bottom of, follow, tail -f, latest lines, tail end, recent lines, newest lines, final lines, last few lines",
    ),
    (
        Grep,
        "grep, search, containing, contains, contain, matching, match, matches, filter, mentions, mention, mentioning, look for, looking for, \
        occurrences, occurrences of, find, zgrep, filtered, search for, with the word, with the text, that say, lines with, scan, having, \
        instances of, references to, includes, including",
    ),
    (
        Reach,
        "reach, reachable, reaching, connect, connects, connection, connecting, connectivity, accessible, access, talk to, talking to, contact, get to, get through, \
        reachability, communicate, hit the port, connect to, unreachable, able to reach, path to, route to, get a connection, \
        connected to, inaccessible",
    ),
    (
        Open,
        "open, opened, closed, blocked, filtered port, firewalled, listening, listen, listens, accepting, accept, accepts, bound, exposed, \
        in use, occupied, taken, free port, open ports, accepting connections, shut, firewall",
    ),
    (
        Answer,
        "respond, responds, responding, answer, answers, answering, response, replies, reply, replying, serving, serve, serves, returns, return, loads, loading, working",
    ),
    (Ping, "ping, pinging, icmp, pings, probe_ping, packet loss, traceroute, tracert, mtr"),
    (
        Status,
        "status, state, health, doing, healthy, ok, okay, condition, alright, all right, fine, good, shape, going on, holding up, feeling, doing ok, sane, overview, \
        summary, well, stable, how is everything, sitrep",
    ),
    (
        Running,
        "running, run, runs, up, active, alive, working, works, work, inactive, enabled, operational, up and running, live, started up, currently running, is up, \
        functioning, exist, exists, present",
    ),
    (
        Fail,
        "fail, fails, failing, failed, failure, failures, broken, broke, crash, crashes, crashing, crashed, dead, died, dying, down, not working, not starting, \
        not start, unhealthy, flapping, degraded, crashloop, crash loop, crashlooping, crash-looping, went down, go down, goes down, going down, keeps dying, keeps crashing, not come up, \
        does not work, not running, not up, kaput, borked, misbehaving, acting up, acting weird, outage, fell over, not coming up, refuses to start, \
        refusing to start, failed to start, unable to start, cannot start, can not start, will not start, fails to start, keeps failing, keeps restarting, \
        stopped working, not respond, not responding, hung, exit, exited, exits, exiting, wont start, quit, in trouble, toast, hosed, fucked, screwed, messed up, bad state, \
        keeps stopping, erroring, throwing errors, malfunctioning, stops working, stuck restarting, restart loop, keeps going down, failing to start, did not start, does not start, bombed, tanked, sick",
    ),
    (
        Why,
        "why, keeps dying, keeps crashing, keeps restarting, keeps failing, keeps stopping, keeps going down, going on with, reason, cause, what is wrong, what happened, what went wrong, wrong with, the matter, issue, issues, problem, problems, explain, root cause, \
        troubleshoot, what caused, reason for, how come, trouble, what is up with, wtf, what is the deal, diagnose, what broke, gone wrong, went wrong, cause of, because of what",
    ),
    (Who, "who, whose"),
    (What, "what"),
    (How, "how"),
    (When, "when, how long, since when, what time, how recently"),
    (Which, "which"),
    (HowMany, "how many, number of, count of, total number"),
    (
        Eat,
        "eat, eating, eats, consume, consumes, consuming, using, use, uses, used by, hog, hogging, hogs, hogged, taking, takes, take up, taking up, burn, burning, burns, chew, \
        chewing, leak, leaking, leaks, consumer, consumers, hungry, hungriest, hogger, gobbling, devouring, swallowing, \
        draining, sucking, spiking, occupying, guzzling, chugging, munching, spinning, pegging, killing the cpu, responsible for, thrashing, doing all the, holding, \
        maxing, eater, eaters, intensive, offenders, culprit, culprits, using up, usage by, wasting, grabbing, hammering, culprits, offender, causing, generating, doing the most, monopolizing, saturating, driving, behind the",
    ),
    (
        Most,
        "most, busiest, top, highest, biggest, largest, heaviest, worst, greediest, heavy, max, too much, so much, lots of, all the, all my, a lot of, main, sorted by, sort by, order by, ordered by, ranked by, top consumers",
    ),
    (
        Free,
        "free, left, available, remaining, space, full, out of space, running out, run out, filling up, low on, enough, spare, running low, unused, fill up, filled, used, occupied space, almost full",
    ),
    (
        High,
        "high, too high, so high, spike, spikes, elevated, 100, 99, through the roof, maxed, skyrocketing",
    ),
    (
        Online,
        "online, connected, available hosts, reachable hosts, checked in, reporting, reporting in, checking in",
    ),
    (
        Offline,
        "offline, disconnected, missing, gone, lost, unreachable hosts, not connected, not online, dropped off, not reporting, went dark, stale, quarantined, revoked, went missing, fell off, dark, never seen",
    ),
    (
        LastSeen,
        "last see, last saw, last heard from, last seen, last seen time, last contact, last check in, last checked in, last heard, seen last, last connected",
    ),
    (
        Slow,
        "slow, sluggish, laggy, lagging, lag, hanging, hang, hangs, stuck, frozen, freeze, freezing, unresponsive, crawling, slowness, slowing, slowed, bogged down, slower, \
        choppy, dragging, choking, painfully slow",
    ),
    (
        Restart,
        "restart, bounce, cycle, kick, recycle, restrt, re-start, turn it off and on, relaunch, respawn, give it a kick, restart_service, turn off and on again, restart it",
    ),
    (
        Reload,
        "reload, re-read, reread, refresh, reload the config, pick up the new config, sighup, reread its config",
    ),
    (
        Start,
        "start, bring, launch, bring back, bring back up, start up, spin up, turn on, fire up, enable, bring up the service, boot up, get running again, resume, power on",
    ),
    (
        Stop,
        "stop, halt, turn off, take down, shut off, bring down, disable, stop it, pause, switch off, tear down, kill off",
    ),
    (
        Kill,
        "kill, terminate, sigkill, kill -9, sigterm, end the process, kill_process, end process, murder, nuke, pkill, killall, send sigterm, send sigkill, zap, force quit, force kill, put down, slay, kil, abort",
    ),
    (Force, "-9, kill -9, sigkill, forcefully, hard kill, force kill, force"),
    (Hup, "sighup, hup, -hup"),
    (
        Reboot,
        "reboot, rebooting, power cycle, powercycle, power-cycle, reboot_host, re-boot, restart the host, restart the server, restart the machine, restart the box, restart the node, restart this host, restart this server, \
        restart this machine, restart this box, restart the whole, restart the vm, restart host, restart server, restart machine, restart node, restart computer, restart the computer, restart the system, restart system, bounce the box, bounce the host, bounce the server, \
        bounce the machine, bounce this box, cycle the box, cycle the host, cycle the machine, warm boot, cold boot, hard reset, cycle power, restart that box, restart that server, restart that host, restart the entire, reset the machine, reset the host",
    ),
    (
        Restarted,
        "last restarted, restarted, restarting, restarts, was restarted, stopped, stopping, stops, started, starting, starts, been restarted, reloaded, got restarted, bouncing, bounced, came back, come back, recover, recovered, reloading, reloads",
    ),
    (Need, "need, needs, want, wants, get, give, please have, would like, due for"),
    (
        Shutdown,
        "shutdown, shut down, power off, poweroff, power down, turn off the server, turn off the machine, turn off the host, halt the machine, turn off the box",
    ),
    (
        Unsupported,
        "install, uninstall, delete, remove, rm, edit, write, create, modify, deploy, upgrade, apt, apt-get, yum, dnf, pip, npm, mkdir, chmod, chown, \
        execute, exec, bash, shell, format, copy, upload, rollback, roll back, patch, truncate, mv, rename, \
        move, backup, restore, migrate, scale, provision, add user, change password, reset password, clean up, cleanup, purge, wipe, erase, drop, touch, mess with",
    ),
    (
        Greet,
        "hello, hi, hey, yo, good morning, good evening, good afternoon, howdy, greetings, hiya, sup, heya, morning, hello there, hi there, good day, whats up, what is up",
    ),
    (
        Thanks,
        "thanks, thank you, thx, ty, cheers, much appreciated, appreciate it, great job, well done, nice work, good job, awesome, perfect, great, nice, cool thanks, tysm, thank u, lovely, brilliant, excellent, cool",
    ),
    (
        Help,
        "help, what can you do, what do you do, capabilities, how do i use, what are you able to do, what can i ask, commands available, what else can you do, how does this work, \
        usage help, available commands, available tools, what tools, which tools, your features, what do you support, examples, skills, manual, instructions, help me, what are your, can you do, get started, how do i start, \
        what should i ask, what can i do, your abilities, your capabilities, guide me, your skills",
    ),
    (Bye, "bye, goodbye, see you, good night, see ya, later, cya, that is all, goodnight"),
    (
        Identity,
        "who are you, what are you, are you an ai, are you a robot, are you human, are you gpt, are you chatgpt, are you claude, are you an llm, your name, which model, what model, are you a bot, are you real, \
        are you a language model, are you ai, introduce yourself, who made you, are you a model, what llm, which llm, are you a person, are you sentient, about yourself, a language model, gpt, chatgpt, what kind of model",
    ),
    (Yes, "yes, yep, yeah, sure, go ahead, do it, ok do it, yup"),
    (No, "no, nope, nah, never mind, nevermind, cancel, forget it, no thanks, cancel that, skip it"),
    (
        All,
        "all, every, each, everywhere, entire, whole, fleet-wide, fleetwide, across the fleet, across all, everything, any, across, *",
    ),
    (Here, "this, here, local, locally, current, this one, my, the current, localhost itself, on-box"),
    (Not, "not, never, no need to, stop short of, avoid, refrain, nor, no longer, hold off"),
    (
        Without,
        "without, rather than, instead of, except, excluding, but not, besides, apart from, other than",
    ),
    (Only, "only, just, instead, simply, merely, but"),
    (
        Its,
        "its, it, their, them, that service, the service, this service, that one, it is, they, same service, same one, those",
    ),
    (
        Polite,
        "can you, could you, would you, will you, can we, let us, i want to, i need to, i want you to, i need you to, i would like to, i would like you to, go ahead and, \
        please go ahead and, kindly, quickly, could we, shall we, you should, you need to, time to, may you, help me, have to, want to, need to, you to, we need to, we have to, i have to, can i, \
        would like, we should, lets, pls, plz, please, just, now, then, ok, okay, hey, hi, hello, yo, quickly, quick, next, first, finally, afterwards, so, well, also, immediately, asap, hm, hmm, um, uh, alright, right, sorry, to, would you mind, mind, be so kind, you, i, we, and, or, kindly, sudo, dude, man, buddy, bro, urgent, urgently, oh",
    ),
    (Please, "please, pls, plz"),
    (
        Should,
        "should i, should we, is it safe to, is it ok to, what happens if, what would happen, how do i, how to, how can i, how would i, do i need to, do we need to, when should, is it necessary, does it need, how do you, how does one, is it a good idea",
    ),
    (
        Since,
        "since, starting from, after, beginning at, from the last, from the past, over the last, during the last, in the last, for the last, for the past, in the past, within the last, over the past, during the past",
    ),
    (Until, "until, till, up to, before, up until"),
    (Ago, "ago, back, earlier"),
    (LastN, "last, past, previous, final, latest"),
    (Recent, "recent, recently, latest, newest, lately, just now, fresh, new, last couple of"),
    (
        Boot,
        "boot, this boot, since boot, last boot, previous boot, since reboot, since the reboot, current boot, since startup, boot log, boot logs, boot messages, since the last reboot, since last reboot, since last boot, since the last boot, since startup, since it booted",
    ),
    (Yesterday, "yesterday, last night, overnight"),
    (Today, "today, this morning, since midnight, tonight, this evening, this afternoon"),
    (Now, "now, currently, right now, at the moment, at present, atm"),
    (
        Lines,
        "lines, line, entries, messages, rows, records, events, -n, --lines, errors, warnings, logs, items, entry",
    ),
    (Times, "times, attempts, tries, time, attempt, retries, probes, tests, tcp probes, repeat, connects"),
    (Bytes, "bytes, byte, kb, kib, mb, mib, kilobytes, megabytes, k, characters, chars, b"),
    (
        More,
        "more, next page, rest, the rest, continue, remaining part, go on, page 2, full result, whole result, full output, next chunk",
    ),
    (From, "from, via host"),
    (On, "on, at, in, inside, over at, for"),
    (To, "to, towards, against, into, with, and, at"),
    (Of, "of, for, about, regarding, named, called, name"),
    (Using, "using, via, with, through, against, from, use, at"),
];

/// Frequent words that are never taken for a mistyped one, and never for the name of something.
pub(super) const COMMON: &str = "a about above after again against all am an and any are aren as at be because been before being below between \
both but by can come could did do does doing down during each else even ever far few first for from further gave gets getting go goes going gone \
got had happen happened happening happens has hasn have having he her hers him his how i if in into is it its itself just keep keeps kept kind know known knows last \
late later least less let like likely little long look looked looking looks made make makes making many may maybe me mean means might mine minute \
moment more most much must my myself near need never new next nice no none nor not nothing now of off often oh ok old on once one only onto or other others \
our ours out over own part people perhaps place please point put quite rather real really right s said same saw say second see seem seemed seems seen send sent set \
several she should since small so some somebody someone something sometimes somewhere soon sort still such sure t take taken tell than thank that the \
their them then there these they thing things think this those though thought three through time times to today together told too took toward tried \
tries try trying turn two under until up upon us used usually very want wanted wants was way we week well went were what whatever when where whether which while \
who whole whom whose why will with within without won wonder wondering word words work world would yes yet you your yours yourself yours actually already also always am \
another anybody anyone anything anyway away back bad bit came case course currently day days different does either else end enough entire especially every everybody \
everyone everything exactly exact feel fine five four full fun give given gives going gonna good great guys half hand hard hate hear heard help here hold hope hour hours house idea \
important instead job joke jokes kinda large left line live lot lots love lunch main matter means money month months morning mostly movie music name names night number ok okay \
open order paris pizza play poem possible pretty problem question quick quickly random reach ready reason remember room run running safe say sec secs seconds sense \
short show side simple sing single sleep smell song soon sound sounds start story stuff stupid suddenly suppose table talk team test text thanks times tired together \
tomorrow tonight top total toy true understand unless via view wait walk watch water weather weird welcome what whats wife wine wish wow write wrote year years \
yesterday capital france germany korea country city president recipe cook dinner food cat cats dog dogs translate language english korean spanish code program function python \
math calculate sum plus minus equals number meaning life universe color blue red green favorite best worst better stock price bitcoin news sport football game games \
book read email phone call meeting calendar schedule remind reminder alarm timer birthday holiday vacation travel flight hotel car bus train weekend monday tuesday wednesday thursday friday saturday sunday \
january february march april june july august september october november december deploy user users group anything everything sixteen ten six seven eight nine \
apparently sadly guess hmm hm um uh er ah eh lol omg wtf damn hell shit fuck crap folks mate pal everybody sir madam sleepy awake paged page pager oncall customer customers complaint \
complaining report reports reported reporting happened earlier suspect suspected suspicious strange weird odd normal usual behave behaving behaves looks seems appears appear \
able across actual add added almost along amount area ask asked asking asks background base based basic become becomes begin behind believe beside beyond big board body box bring brings brought \
build building built busy button buy careful carefully certain chance change changed changes changing choose clear clearly close comes coming common compare compared complete completely consider contain \
control correct cost couple cover create cut data date deal decide deep depends describe detail details develop difference difficult doubt draw drive drop due early easy effect else empty \
event events exist expect expected explain extra eye face fact fall false fast feature field figure fill final finally find finish fix fixed fixing follow force forget form found free friend front future general \
girl glad gone group grow guess guy handle hang hear heavy high hit home honest huge human hundred hurry husband ill immediate improve inside instead interest interesting issue item items just keep key kid kids \
kill knew land lead learn leave level lie life light list listen local lose lost low luck mad man manage manager mark market mention method middle million mind miss mode move moved name nature necessary \
note notice object obvious obviously offer office option options ought outside paper parent pass past pay per percent perfect period person pick picture piece plan please plenty post power prefer present press prevent probably \
process produce project proper properly provide public pull push quarter quiet raise rate reach react recent record regular relate release remain remove rest result return rich ring rise road role round rule save \
saying scene school search section security seem select sell sentence separate serious serve service seven shape share shop shot sign similar sit situation size skill slow smart soft solution solve space speak special specific \
spend stage stand standard state stay step stick stop store street strong struggle study subject success suggest support surprise switch system task teach tend term thousand throw tie till tiny title topic touch track trade trip \
trouble trust truth turned type unable unit update upset use useful usual value various version visit voice wall war warm wear win window wonder worry worried worse worth wrong young zero";
