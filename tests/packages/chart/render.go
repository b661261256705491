// Renders a Helm chart as Helm 3 does, as far as ours goes: Go's templates with sprig's functions, include, required, fail,
// tpl, toYaml, fromYaml, toJson, .Files.Get, and charts inside it by name in .Subcharts.
//
//	render CHART < VALUES.json      prints {"objects": [...], "notes": "..."} or, with status 1, {"error": "..."}
//
// VALUES.json is a list of sets: for each one line is printed.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type values = map[string]interface{}

type chart struct {
	folder   string
	meta     values
	defaults values
	inside   map[string]*chart
}

type files struct{ folder string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	if err != nil {
		return "" // as Helm does
	}
	return string(text)
}

func read(folder string) (*chart, error) {
	c := &chart{folder: folder, inside: map[string]*chart{}}
	for name, into := range map[string]*values{"Chart.yaml": &c.meta, "values.yaml": &c.defaults} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	within, _ := filepath.Glob(filepath.Join(folder, "charts", "*"))
	for _, path := range within {
		inner, err := read(path)
		if err != nil {
			return nil, err
		}
		c.inside[inner.meta["name"].(string)] = inner
	}
	return c, nil
}

// Maps are merged, all else is replaced; null takes a default away.
func merged(below, above values) values {
	all := values{}
	for name, value := range below {
		all[name] = value
	}
	for name, value := range above {
		under, is_map := all[name].(values)
		over, over_map := value.(values)
		switch {
		case value == nil:
			delete(all, name)
		case is_map && over_map:
			all[name] = merged(under, over)
		case over_map:
			all[name] = merged(values{}, over)
		default:
			all[name] = value
		}
	}
	return all
}

// What templates of a chart see as ".".
func (c *chart) scope(set values, release values) values {
	known := merged(c.defaults, set)
	subcharts := values{}
	for name, inner := range c.inside {
		own, _ := known[name].(values)
		within := inner.scope(own, release)
		subcharts[name] = within
		known[name] = within["Values"]
	}
	about := values{}
	for name, value := range c.meta { // as Go's fields are called
		about[strings.ToUpper(name[:1])+name[1:]] = value
	}
	return values{
		"Values": known, "Chart": about, "Release": release, "Files": files{c.folder}, "Subcharts": subcharts,
		"Capabilities": values{"KubeVersion": values{"Version": "v1.29.0", "Major": "1", "Minor": "29"}},
	}
}

func to_yaml(value interface{}) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func from_yaml(text string) values {
	made := values{}
	if err := yaml.Unmarshal([]byte(text), &made); err != nil {
		made["Error"] = err.Error()
	}
	return made
}

func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env") // Helm has neither
	delete(known, "expandenv")
	known["toYaml"] = to_yaml
	known["fromYaml"] = from_yaml
	known["fail"] = func(why string) (string, error) { return "", errors.New(why) }
	known["required"] = func(why string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, errors.New(why)
		}
		return value, nil
	}
	known["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	known["tpl"] = func(text string, data interface{}) (string, error) {
		one, err := template.Must(all.Clone()).New("tpl").Parse(text)
		if err != nil {
			return "", err
		}
		var out bytes.Buffer
		err = one.Execute(&out, data)
		return out.String(), err
	}
	return known
}

// Every file under templates/, by its path, of this chart and of those inside.
func (c *chart) parse(all *template.Template, scopes map[string]values, scope values) error {
	paths, _ := filepath.Glob(filepath.Join(c.folder, "templates", "*"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := all.New(path).Parse(string(text)); err != nil {
			return err
		}
		scopes[path] = scope
	}
	for name, inner := range c.inside {
		if err := inner.parse(all, scopes, scope["Subcharts"].(values)[name].(values)); err != nil {
			return err
		}
	}
	return nil
}

var divider = regexp.MustCompile(`(?m)^---.*$`)

func render(c *chart, set values) (objects []values, notes string, err error) {
	release := values{"Name": "words", "Namespace": "default", "Service": "Helm", "IsInstall": true, "IsUpgrade": false, "Revision": 1}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	scopes := map[string]values{}
	if err := c.parse(all, scopes, c.scope(set, release)); err != nil {
		return nil, "", err
	}
	paths := []string{}
	for path := range scopes {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		if strings.HasSuffix(path, ".tpl") {
			continue
		}
		var out bytes.Buffer
		if err := all.ExecuteTemplate(&out, path, scopes[path]); err != nil {
			return nil, "", err
		}
		text := strings.ReplaceAll(out.String(), "<no value>", "")
		if filepath.Base(path) == "NOTES.txt" {
			notes = text
			continue
		}
		for _, one := range divider.Split(text, -1) {
			object := values{}
			if err := yaml.UnmarshalStrict([]byte(one), &object); err != nil {
				return nil, "", fmt.Errorf("%s: %w\n%s", filepath.Base(path), err, one)
			}
			if len(object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects, notes, nil
}

func main() {
	c, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var sets []values
	if err := json.NewDecoder(bufio.NewReader(os.Stdin)).Decode(&sets); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, set := range sets {
		objects, notes, err := render(c, set)
		answer := values{"objects": objects, "notes": notes}
		if err != nil {
			answer = values{"error": err.Error()}
		}
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
}
